package label_test

import (
	"slices"
	"strings"
	"testing"

	"heddle/rm/queue/label"
)

// As recorded of a stock 3.4.2.
func TestNamesOfLabels(t *testing.T) {
	for _, name := range []string{"x", "GPU-1", "0_a", strings.Repeat("a", 255)} {
		if err := label.Check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	const empty = "label added is empty or exceeds 255 character(s)"
	odd := func(name string) string {
		return "label name should only contains {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= " + name
	}
	for name, want := range map[string]string{
		"": empty, strings.Repeat("a", 256): empty, "-a": odd("-a"), "_a": odd("_a"), "a.b": odd("a.b"), "a b": odd("a b"), "*": odd("*"), "ä": odd("ä"),
	} {
		if err := label.Check(name); err == nil || err.Error() != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAccess(t *testing.T) {
	above := []string{"x", "y"}
	for setting, want := range map[string][]string{"": above, " ": {}, "x": {"x"}, " z , x,,z": {"z", "x"}, "x,*": {"*"}} {
		if got := label.Access(setting, above); !slices.Equal(got, want) {
			t.Errorf("%q: %q", setting, got)
		}
	}
	if got := label.Access("x", nil); !slices.Equal(got, []string{"*"}) {
		t.Errorf("root may use %q", got)
	}
	if got := label.Beyond([]string{"a", "x", "b"}, above); !slices.Equal(got, []string{"a", "b"}) || label.Beyond(above, []string{"*"}) != nil {
		t.Errorf("beyond: %q", got)
	}
	if !label.Has(nil, "") || label.Has(nil, "x") || !label.Has(above, "y") || !label.Has([]string{"*"}, "z") {
		t.Error("lists have the wrong labels")
	}
}

func TestKeys(t *testing.T) {
	settings := map[string]string{
		"root.a.accessible-node-labels.x.capacity": "1", "root.accessible-node-labels.y.maximum-capacity": "1", "root.b.accessible-node-labels.-z.capacity": "1",
		"root.a.accessible-node-labels": "w", "root.a.accessible-node-labels.v": "1",
	}
	if got := label.Named(settings); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("named: %q", got)
	}
	if !label.Sets(settings, "root.a", "x") || label.Sets(settings, "root.a", "y") || label.Sets(settings, "root", "x") || label.Key("x") != "accessible-node-labels.x." || label.Key("") != "" {
		t.Error("keys are taken for others")
	}
	for key, want := range map[string]bool{
		"accessible-node-labels": true, "default-node-label-expression": true, "accessible-node-labels.x.capacity": true, "accessible-node-labels.x.maximum-am-resource-percent": true,
		"accessible-node-labels.x": false, "accessible-node-labels.x.capcity": false, "accessible-node-labels.-x.capacity": false, "capacity": false, "x.capacity": false,
	} {
		if label.IsSetting(key) != want {
			t.Errorf("%s is a setting: %t", key, !want)
		}
	}
}
