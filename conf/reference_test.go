package conf

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/documents"
)

var update = flag.Bool("update", false, "write docs/configuration.md")

const reference = "../docs/configuration.md"

const referenceHead = `# Heddle's own keys

Set these keys in ` + "`yarn-site.xml`" + `, or with ` + "`-D KEY=VALUE`" + ` on the command line. All other keys are Hadoop's. ` + "`heddle conf get KEY`" + ` prints
a key's value and its origin; ` + "`heddle conf check DIR`" + ` lists wrong values, with which a daemon that reads the key doesn't start. Durations without a unit are in milliseconds.
Queues also have settings of their own: [preemption](sharing.md#suspend-instead-of-kill) and [stage policies](policies.md#maps-and-reduces).

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

// mentioned is a key of Heddle's or YARN's in a document, or the beginning of several.
var mentioned = regexp.MustCompile(`(?:^|[^\w.])((?:heddle|yarn)\.[a-z]+(?:[.-](?:[a-z0-9-]+|<[a-z]+>))+)`)

var shellVariable = regexp.MustCompile(`\$([a-z]+)`)

// Documents mention no key that isn't there.
func TestDocumentsMentionKeysThatExist(t *testing.T) {
	found := 0
	for _, name := range documents.Pages(t, "..") {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text := shellVariable.ReplaceAllString(string(page), "<$1>") // of a shell
		for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
			found++
			if !isKey(m[1]) {
				t.Errorf("%s mentions %s, which is no key", name, m[1])
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d keys are mentioned", found)
	}
}

// isKey reports whether there is a key with a name, or one that begins with it.
func isKey(name string) bool {
	if _, ok := FindKey(name); ok || keys().knownYARN(name) || keys().knownYARN(name+".") || hasPrefixOf(name, foreign) {
		return true
	}
	for k := range Keys() {
		if strings.HasPrefix(k.Name, name+".") || strings.HasPrefix(k.Name, strings.TrimSuffix(name, "-")+"-") {
			return true
		}
	}
	return false
}
