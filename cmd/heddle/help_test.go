package main

import (
	"strings"
	"testing"
)

// heddle xargs --help ended with a second usage, without one of its options.
func TestCommandsThatReadTheirOwnOptionsHaveOneUsage(t *testing.T) {
	for _, c := range []string{"xargs", "mr"} {
		out, err := heddle(t, c, "--help")
		if err != nil || strings.Count(out, "Usage:") != 1 || strings.Contains(out, "[flags]") || !strings.HasPrefix(out, "Usage: heddle "+c+" ") || !strings.Contains(out, "Examples:\n") {
			t.Errorf("heddle %s --help: %v\n%s", c, err, out)
		}
	}
}

// Everybody says app.
func TestApplicationsAreListedAsApp(t *testing.T) {
	out, err := heddle(t, "--help")
	if err != nil || !strings.Contains(out, "\n  app                List") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, word := range []string{"app", "application"} {
		if out, err := heddle(t, word, "--help"); err != nil || !strings.HasPrefix(out, "usage: application\n") {
			t.Errorf("heddle %s --help: %v\n%s", word, err, out)
		}
	}
}
