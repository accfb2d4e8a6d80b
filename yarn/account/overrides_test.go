package account

import (
	"slices"
	"testing"
)

func TestGroupsOfTheConfiguration(t *testing.T) {
	groups, err := directory().GroupsExcept(" alice = staff, dev ;dr.who=;root=wheel;")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{"alice": {"staff", "dev"}, "root": {"wheel"}} {
		if got, err := groups(name); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := groups("dr.who"); err == nil {
		t.Errorf("a user without groups: %q", got)
	}
	if got, err := groups("daemon"); err != nil || len(got) == 0 {
		t.Errorf("a user of the machine: %q, %v", got, err)
	}
}

func TestWrongGroupsOfTheConfiguration(t *testing.T) {
	for _, text := range []string{"alice", "=staff", "a=b=c"} {
		if _, err := directory().GroupsExcept(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
