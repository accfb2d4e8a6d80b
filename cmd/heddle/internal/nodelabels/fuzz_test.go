package nodelabels

import (
	"strings"
	"testing"
)

// Labels come out as they went in, and none is without a name.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"gpu", "gpu(exclusive=false)", "gpu(exclusive=)", "(", "n1:80=a", "n1,a", ":1=a", "n1:65536=a", "n1=a b", "n1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := Parse(text); err == nil {
			if l.Name == "" || l.Name != strings.TrimSpace(l.Name) || strings.Contains(l.Name, "(") || !strings.HasPrefix(strings.TrimSpace(text), l.Name) {
				t.Errorf("%q is the label %q", text, l.Name)
			}
			if !l.Exclusive && !strings.Contains(text, "exclusive") {
				t.Errorf("%q isn't exclusive", text)
			}
		} else if l != (Label{}) {
			t.Errorf("%q: a label and the error %v", text, err)
		}
		switch n, err := ParseNode(text); {
		case err != nil && n != (Node{}):
			t.Errorf("%q: a node and the error %v", text, err)
		case err == nil && (n.Host == "" || !strings.HasPrefix(text, n.Host) || n.Port < 0 || n.Port > 65535 || strings.ContainsAny(n.Label, ",") || !strings.Contains(text, n.Label)):
			t.Errorf("%q: %+v", text, n)
		}
	})
}
