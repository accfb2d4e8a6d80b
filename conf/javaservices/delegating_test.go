package javaservices

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
)

// Where a class is to say which labels nodes have, a ResourceManager doesn't start without it.
func TestWhoSaysWhichLabelsNodesHave(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{labelsBase, "my.Labels"} {
		file := filepath.Join(dir, strings.ReplaceAll(class, ".", "/")+".class")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const by = "yarn.node-labels.configuration-type=delegated-centralized"
	for want, set := range map[string][]string{
		"":                        {"yarn.node-labels.enabled=true", by, LabelsClassKey + "=my.Labels"},
		"a class must say":        {"yarn.node-labels.enabled=true", by},
		"the class my.Other":      {"yarn.node-labels.enabled=true", by, LabelsClassKey + "=my.Other"},
		"no Java was found":       {"yarn.node-labels.enabled=true", by, LabelsClassKey + "=my.Labels", "none=true"},
		" (no labels)":            {by},
		" (distributed)":          {"yarn.node-labels.enabled=true", "yarn.node-labels.configuration-type=distributed"},
		"the class " + labelsBase: {"yarn.node-labels.enabled=true", by, LabelsClassKey + "=my.Labels", classPathKey + "=" + t.TempDir()},
	} {
		c, err := conf.Load(conf.Options{Dir: t.TempDir(), Overrides: append([]string{classPathKey + "=" + dir}, set...)})
		if err != nil {
			t.Fatal(err)
		}
		look := func(name string) (string, bool) {
			return "/usr/lib/jvm/x", name == "JAVA_HOME"
		}
		if set[len(set)-1] == "none=true" {
			t.Setenv("PATH", "")
			look = func(string) (string, bool) { return "", false }
		}
		err = Delegating(c, look)
		if want, _, _ := strings.Cut(want, " ("); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v; want %q", set, err, want)
		}
	}
}
