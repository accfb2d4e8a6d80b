package rm

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeirs(t *testing.T) {
	ids := []string{"rm1", "rm2", "rm3"}
	for _, c := range []struct {
		last, offered, self string
		want                []string
	}{
		{"", "", "rm1", nil},
		{"", "", "rm3", []string{"rm1", "rm2"}},
		{"rm1", "", "rm2", nil},
		{"rm1", "", "rm3", []string{"rm2"}},
		{"rm2", "", "rm1", []string{"rm3"}},
		{"rm3", "", "rm1", nil},
		{"rm3", "", "rm2", []string{"rm1"}},
		{"rm2", "", "rm2", nil},
		{"gone", "", "rm2", []string{"rm1"}},
		{"rm1", "rm3", "rm2", []string{"rm3"}},
		{"rm1", "stranger", "rm3", []string{"rm2"}},
	} {
		if d := cmp.Diff(c.want, heirs(ids, c.last, c.offered, c.self)); d != "" {
			t.Errorf("after %q, offered to %q, elected %s: %s", c.last, c.offered, c.self, d)
		}
	}
}
