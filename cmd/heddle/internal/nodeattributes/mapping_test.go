package nodeattributes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for text, want := range map[string][]Mapping{
		"n1:gpu(STRING)=a100,zone n2:os=linux": {{"n1", []Attribute{{"gpu", "a100"}, {"zone", ""}}}, {"n2", []Attribute{{"os", "linux"}}}},
		"#n1:a=1 n1:a=1\nn1:b( string )=2":     {{"n1", []Attribute{{"a", "1"}}}}, // a blank ends a mapping, and what follows isn't one
		"n1:a=1 n1:b=2":                        {{"n1", []Attribute{{"b", "2"}}}},
		"n1: n2:a":                             {{"n1", nil}, {"n2", []Attribute{{"a", ""}}}},
		"n1:a=1=2":                             {{"n1", []Attribute{{"a", "1"}}}},
	} {
		got, err := Parse(text, "replace")
		if strings.HasPrefix(text, "#") {
			if err == nil {
				t.Errorf("%q: %v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	if _, err := Parse("n1:", "add"); err == nil || err.Error() != "Attributes cannot be null or empty for Operation [add] on the node n1" {
		t.Error(err)
	}
}

// What is read was written, and no attribute is there twice or without a name.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"n1:gpu(STRING)=a100,zone n2:x", ":", "n1:(", "n1:a)=(", "n1:,,", "n1:a=,b==", "# x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse(text, "replace")
		if (err == nil) != (len(all) > 0) {
			t.Fatalf("%q: %v, %v", text, all, err)
		}
		hosts := map[string]bool{}
		for _, m := range all {
			if m.Host == "" || hosts[m.Host] || !strings.Contains(text, m.Host) {
				t.Errorf("%q: host %q", text, m.Host)
			}
			hosts[m.Host] = true
			for _, a := range m.Attributes {
				if strings.ContainsAny(a.Name+a.Value, ",:\n") || !strings.Contains(text, a.Name) || !strings.Contains(text, a.Value) {
					t.Errorf("%q: %q", text, a)
				}
			}
		}
	})
}
