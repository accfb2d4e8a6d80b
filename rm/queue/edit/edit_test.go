package edit

import (
	"maps"
	"strings"
	"testing"

	"heddle/rm/queue"
)

// FuzzChange applies changes that clients may send: what they start from stays as it was, a removed queue leaves no key behind, and the result is
// a tree or an error.
func FuzzChange(f *testing.F) {
	f.Add("root.a", "root.b", "root.b", "capacity", "50", "maximum-am-resource-percent")
	f.Add("root.b.c", "root.b", "root.b", "queues", "c,c", "")
	f.Add("root", "a", "", "", "", " ")
	f.Fuzz(func(t *testing.T, remove, add, update, key, value, global string) {
		before := map[string]string{
			queue.Prefix + "root.queues": "a", queue.Prefix + "root.a.capacity": "100", queue.Prefix + "root.a.queues": "x", queue.Prefix + "root.a.x.capacity": "100",
		}
		settings := maps.Clone(before)
		params := []Setting{{Key: key, Value: &value}}
		c := Change{Add: []Queue{{Path: add, Params: params}}, Update: []Queue{{Path: update, Params: params}}, Global: []Setting{{Key: global, Value: &value}}}
		if after, err := c.Apply(settings); err == nil {
			short := map[string]string{}
			for k, v := range after {
				short[strings.TrimPrefix(k, queue.Prefix)] = v
			}
			if _, err := queue.ParseCapacity(short); err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
		}
		c = Change{Remove: []string{remove}}
		if after, err := c.Apply(settings); err == nil {
			for k := range after {
				if strings.HasPrefix(k, queue.Prefix+strings.TrimSpace(remove)+".") {
					t.Errorf("%s stays after %q is removed", k, remove)
				}
			}
		}
		if !maps.Equal(settings, before) {
			t.Errorf("the change changed what it started from: %v", settings)
		}
	})
}
