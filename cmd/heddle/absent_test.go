package main

import (
	"strings"
	"testing"
)

// heddle jar asked "Did you mean mr?", and other commands of yarn were unknown.
func TestCommandsOfYARNThatHeddleLacksSayWhatToUse(t *testing.T) {
	for _, a := range absent {
		_, err := heddle(t, a.name, "examples.jar", "-x")
		if err == nil || !strings.HasPrefix(err.Error(), "there is no heddle "+a.name+": ") || len(a.instead) < 10 {
			t.Errorf("%s: %v", a.name, err)
		}
	}
	if out, err := heddle(t, "--help"); err != nil || strings.Contains(out, "sharedcachemanager") {
		t.Errorf("the help lists what there isn't: %v\n%s", err, out)
	}
}
