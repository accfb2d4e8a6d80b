package priority

import "testing"

func TestLists(t *testing.T) {
	all, ok := Parse(" [user=ann,bob group=staff max_priority=5 default_priority=2] [group=* max_priority=1 default_priority=-3][user=eve]")
	if !ok || len(all) != 3 {
		t.Fatalf("got %v, %v", all, ok)
	}
	staff := func(string) ([]string, error) { return []string{"staff"}, nil }
	for _, c := range []struct {
		list     int
		max, def int32
		user     string
		groups   func(string) ([]string, error)
		may      bool
	}{
		{0, 0, 0, "eve", nil, true},
		{0, 0, 0, "ann", nil, false},
		{1, 1, 0, "anybody", nil, true}, // less than no priority is none
		{2, 5, 2, "bob", nil, true},
		{2, 5, 2, "cy", staff, true},
		{2, 5, 2, "cy", nil, false},
	} {
		a := all[c.list]
		if a.Max != c.max || a.Default != c.def {
			t.Errorf("list %d has %d and %d, want %d and %d", c.list, a.Max, a.Default, c.max, c.def)
		}
		if got := a.Who.Allows(c.user, c.groups); got != c.may {
			t.Errorf("list %d is for %s: %v", c.list, c.user, got)
		}
	}
}

func TestOtherTexts(t *testing.T) {
	for _, text := range []string{"", "*", "ann staff"} {
		if all, ok := Parse(text); !ok || all != nil {
			t.Errorf("%q: got %v, %v; it is an ordinary list of users and groups", text, all, ok)
		}
	}
	for _, text := range []string{"[max_priority=1]", "[user=ann max_priority=high]", "[user=ann default_priority=]", "[user=ann priority=1]", "[user=ann max_priority=2147483648]"} {
		if all, ok := Parse(text); ok {
			t.Errorf("%q: got %v", text, all)
		}
	}
}
