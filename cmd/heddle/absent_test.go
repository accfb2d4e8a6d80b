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

// yarn's options for services and shells were unknown, and flags of Heddle's own commands came without a suggestion.
func TestMisspeltAndMissingOptionsSayWhatToUse(t *testing.T) {
	for line, want := range map[string]string{
		"app -launch sleeper":        "there is no -launch: use Hadoop's `yarn app -launch`",
		"app -destroy sleeper":       "there is no -destroy: use Hadoop's `yarn app -destroy`",
		"app -destry sleeper":        "Unrecognized option: -destry; ",
		"container -shell container": "there is no -shell: use Hadoop's `yarn container -shell`",
		"mr -maper cat":              "did you mean -mapper?",
		"mr -qqqqqqqq cat":           "not defined: -qqqqqqqq (heddle mr -help",
		"rm --cnf x":                 "did you mean --conf?",
		"sim --tsks 3":               "did you mean --tasks?",
		"sim --qqqqqqqq 3":           "heddle sim --help lists the flags",
	} {
		_, err := heddle(t, strings.Fields(line)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", line, err, want)
		}
	}
	if out, err := heddle(t, "app", "-help"); err != nil || strings.Contains(out, "-launch") {
		t.Errorf("the help lists what there isn't: %v\n%s", err, out)
	}
}
