package gate

import (
	"strings"
	"testing"
)

// FuzzRules: rules are read or refused with the line, and what is read is said again as it was.
func FuzzRules(f *testing.F) {
	f.Add("p90 wait of root.prod must not grow by more than 10 %\n# no rule\ncost of user x must not exceed 5")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ReadRules(strings.NewReader(text))
		if err == nil && len(rules) == 0 {
			t.Error("no rules, and no error")
		}
		for _, r := range rules {
			again, err := parseRule(r.Text)
			if again.Line = r.Line; err != nil || again != r {
				t.Errorf("%+v, then %+v (%v)", r, again, err)
			}
		}
	})
}
