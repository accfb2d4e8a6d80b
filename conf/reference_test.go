package conf

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const reference = "../docs/configuration.md"

const referenceHead = `# Heddle's own keys

Set these keys in ` + "`yarn-site.xml`" + `, or with ` + "`-D KEY=VALUE`" + ` on the command line. All other keys are Hadoop's. ` + "`heddle conf get KEY`" + ` prints
a key's value and its origin; ` + "`heddle conf check DIR`" + ` lists wrong values, with which a daemon doesn't start. Durations without a unit are in milliseconds.
Queues also have settings of their own: [preemption](operations.md#suspend-instead-of-kill) and [stage policies](operations.md#maps-and-reduces).

The registry (` + "`conf/keys_heddle.go`" + `) is the source of this page; ` + "`go test ./conf -run Reference -update`" + ` writes it.

| key | default | values | meaning |
|---|---|---|---|
`

// Each of Heddle's own keys is documented with its default, range and meaning.
func TestReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(referenceHead)
	cell := strings.NewReplacer("|", `\|`, "<", "&lt;").Replace
	for k := range Keys() {
		if !strings.HasPrefix(k.Name, "heddle.") {
			continue
		}
		def := ""
		if k.Default != "" {
			def = "`" + k.Default + "`"
		}
		b.WriteString("| `" + k.Name + "` | " + def + " | " + cell(k.Allowed()) + " | " + cell(k.Doc) + " |\n")
	}
	if *update {
		if err := os.WriteFile(reference, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	is, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(b.String(), "\n"), strings.Split(string(is), "\n")); d != "" {
		t.Errorf("%s doesn't say what the registry says: run this test with -update\n%s", reference, d)
	}
}

// mentioned is a key of Heddle's in a document, or the beginning of several.
var mentioned = regexp.MustCompile(`\bheddle\.[a-z]+(?:\.(?:[a-z0-9-]+|<[a-z]+>))+`)

// Documents mention no key that isn't there any more.
func TestDocumentsMentionKeysThatExist(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../docs", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".md") {
			return err
		}
		page, err := os.ReadFile(name)
		for _, key := range mentioned.FindAllString(string(page), -1) {
			found++
			if !isKey(key) {
				t.Errorf("%s mentions %s, which is no key", name, key)
			}
		}
		return err
	})
	if err != nil || found < 100 {
		t.Errorf("%d keys are mentioned: %v", found, err)
	}
}

func isKey(name string) bool {
	if _, ok := FindKey(name); ok {
		return true
	}
	for k := range Keys() {
		if strings.HasPrefix(k.Name, name+".") {
			return true
		}
	}
	return false
}
