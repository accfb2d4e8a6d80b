package roots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
)

// Root read configurations, and ran scripts, that any user could replace.
func TestRootTrustsNothingThatOthersCanReplace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an account of its own may share its configuration")
	}
	base := t.TempDir()
	at := func(elems ...string) string { return filepath.Join(append([]string{base}, elems...)...) }
	make := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	const site = "<configuration/>"
	make(at("good", "yarn-site.xml"), site, 0o644)
	make(at("file", "yarn-site.xml"), site, 0o666)
	make(at("folder", "yarn-site.xml"), site, 0o644)
	make(at("scripts", "health"), "", 0o755)
	make(at("scripts", "all"), "", 0o777)
	if err := os.Chmod(at("folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	script := func(name string) []string {
		return []string{"yarn.nodemanager.health-checker.scripts=s", "yarn.nodemanager.health-checker.s.path=" + at("scripts", name)}
	}
	for name, c := range map[string]struct {
		dir     string
		set     []string
		culprit string
	}{
		"good":              {dir: "good", set: script("health")},
		"a file for all":    {dir: "file", culprit: at("file", "yarn-site.xml")},
		"a folder for all":  {dir: "folder", culprit: at("folder")},
		"a script for all":  {dir: "good", set: script("all"), culprit: at("scripts", "all")},
		"a topology script": {dir: "good", set: []string{"net.topology.script.file.name=" + at("scripts", "all")}, culprit: at("scripts", "all")},
	} {
		cfg, err := conf.Load(conf.Options{Dir: at(c.dir), Overrides: c.set})
		if err != nil {
			t.Fatal(err)
		}
		err = Problems(cfg)
		if (err == nil) != (c.culprit == "") || err != nil && !strings.Contains(err.Error(), "chmod go-w "+c.culprit) {
			t.Errorf("%s: %v, want %q to be named", name, err, c.culprit)
		}
	}
}
