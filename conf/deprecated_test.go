package conf

import (
	"slices"
	"strings"
	"testing"
)

// Names that Heddle's own keys had stand for the present ones, with a warning that says so.
func TestRenamedKeys(t *testing.T) {
	n := 0
	for old, now := range facts(renamedFacts) {
		n++
		k, ok := keys().keys[now]
		if _, still := keys().keys[old]; !ok || still {
			t.Errorf("%s is called %s: the registry has the new name: %v, the old one: %v", old, now, ok, still)
			continue
		}
		c := load1(t, Options{}, "yarn-site.xml", configuration(property(old, "7")))
		if got, _ := c.Get(k.Name); got != "7" {
			t.Errorf("%s=7 makes %s %q", old, now, got)
		}
		if r := c.Validate(); !slices.ContainsFunc(r.Problems, func(p Problem) bool {
			return p.Severity == Warning && p.Key == old && strings.Contains(p.String(), now)
		}) {
			t.Errorf("nothing warns that %s is called %s: %v", old, now, r.Problems)
		}
	}
	if n == 0 {
		t.Error("the table is empty")
	}
}

// Names of Heddle's own keys say their units, and say max and min.
func TestNamesOfOurKeys(t *testing.T) {
	for k := range Keys() {
		if !strings.HasPrefix(k.Name, "heddle.") {
			continue
		}
		for part := range strings.FieldsFuncSeq(k.Name, func(r rune) bool { return r == '.' || r == '-' }) {
			if slices.Contains([]string{"most", "least", "longest", "shortest", "maximum", "minimum"}, part) {
				t.Errorf("%s: say max or min, not %s", k.Name, part)
			}
		}
		if k.Kind == Duration && !strings.HasSuffix(k.Name, "-ms") {
			t.Errorf("%s: its unit isn't in its name", k.Name)
		}
	}
}
