package template

import (
	"reflect"
	"testing"
)

func TestEntitled(t *testing.T) {
	rooms := func(path string) map[string]int {
		return map[string]map[string]int{"root.a": {"": 2}, "root.b": {"": 1, "x": 2}}[path]
	}
	list := func(zero ...[]string) []Created {
		paths := []string{"root.a.1", "root.a.2", "root.a.3", "root.b.1", "root.b.2"}
		out := []Created{{Path: "root.f"}}
		for i, path := range paths {
			out = append(out, Created{Path: path, Legacy: true, Zero: zero[i]})
		}
		return append(out, Created{Path: "root.gone.x", Legacy: true})
	}
	def, both := []string{""}, []string{"", "x"}
	for name, c := range map[string]struct {
		of   func([]Created, []string, Rooms) []Created
		list []Created
		used []string
		want []Created
	}{
		"the oldest applications' leaves first": {
			EntitledAnew, list(nil, nil, nil, nil, nil),
			[]string{"root.a.3", "root.b.2", "root.a.3", "root.a.1", "root.a.2", "root.b.1", "root.f", "root.other"},
			list(nil, def, nil, def, nil),
		},
		"idle leaves have none": {EntitledAnew, list(nil, nil, nil, nil, nil), nil, list(def, def, def, both, both)},
		"what a leaf has it keeps, though others are older": {
			Entitled, list(nil, nil, def, nil, def),
			[]string{"root.a.3", "root.b.2", "root.a.1", "root.a.2", "root.b.1"},
			list(nil, nil, def, nil, def),
		},
		"an idle leaf's goes to one with applications": {
			Entitled, list(nil, nil, def, both, nil),
			[]string{"root.a.3", "root.a.1", "root.b.1"},
			list(nil, def, nil, nil, both),
		},
	} {
		before := append([]Created(nil), c.list...)
		got := c.of(c.list, c.used, rooms)
		if c.want[6].Zero = got[6].Zero; !reflect.DeepEqual(normal(got), normal(c.want)) {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
		if !reflect.DeepEqual(c.list, before) {
			t.Errorf("%s: the list itself has changed: %+v", name, c.list)
		}
	}
}

// normal makes empty lists of partitions nil.
func normal(list []Created) []Created {
	for i := range list {
		if len(list[i].Zero) == 0 {
			list[i].Zero = nil
		}
	}
	return list
}
