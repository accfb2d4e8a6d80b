package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"heddle/am"
	"heddle/am/xargs"
	"heddle/yarn/pb"
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

// Operators look for runs that have failed, or were ended.
func TestXargsEndsItsApplicationAsItsCommandsDid(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, test := range []struct {
		ctx  context.Context
		code int
		want pb.FinalApplicationStatus
		says string
	}{
		{t.Context(), 0, am.Succeeded, ""},
		{t.Context(), 123, am.Failed, "exit code 123"},
		{t.Context(), 127, am.Failed, "exit code 127"},
		{ended, 143, am.Killed, "ended by its user"},
	} {
		if got := resultOf(test.ctx, test.code); got.status != test.want || !strings.Contains(got.because, test.says) || (got.because == "") != (test.says == "") {
			t.Errorf("exit code %d: %+v", test.code, got)
		}
	}
}
