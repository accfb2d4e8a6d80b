package main

import (
	"path/filepath"
	"strings"
	"testing"

	"heddle/am/xargs"
)

// What was asked for and isn't there is an error, and not left out in silence.
func TestXargsRefusesVariablesAndFoldersThatAreNotThere(t *testing.T) {
	t.Setenv("HEDDLE_TEST_SET", "")
	missing := filepath.Join(t.TempDir(), "missing")
	for _, test := range []struct{ args, want string }{
		{"--env HEDDLE_TEST_SET,HEDDLE_TEST_UNSET true", "--env HEDDLE_TEST_UNSET: there is no variable"},
		{"--local --workdir " + missing + " true", "--workdir: stat " + missing},
		{"--local --workdir /dev/null true", "/dev/null is not a folder"},
		{"--local --arg-file /dev/null --workdir / --env HEDDLE_TEST_SET -r true", ""},
	} {
		o, err := xargs.Parse(strings.Fields(test.args))
		if err != nil {
			t.Fatal(err)
		}
		err = runXargs(t.Context(), o)
		if got := errorText(err); test.want == "" && err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s", test.args, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
