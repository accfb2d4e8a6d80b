package leafpolicy

import (
	"slices"
	"testing"

	"heddle/conf/conftest"
)

func withSetting(t *testing.T) {
	was := slices.Clone(numbers)
	t.Cleanup(func() { numbers = was; delete(policies, "hopper") })
	AddOrdering("hopper", Setting{Name: "epsilon", Least: 0, Most: 1})
}

func TestSettingsOfAnOrder(t *testing.T) {
	withSetting(t)
	read := func(order, text string) (v Values, failed string) {
		v = Read(order, conftest.With(t, map[string]string{"heddle.scheduler.hopper.epsilon": "0.5"}), func(key string) (string, string) {
			if key != "ordering-policy.hopper.epsilon" {
				return key, ""
			}
			return "root.a." + key, text
		}, func(name, value, reason string) { failed = name + "=" + value + ": " + reason })
		return v, failed
	}
	if v, failed := read("hopper", ""); failed != "" || v["epsilon"] != .5 {
		t.Errorf("by default: %v, %s", v, failed)
	}
	if v, failed := read("hopper", "0.25"); failed != "" || v["epsilon"] != .25 || len(v) != 1 {
		t.Errorf("set: %v, %s", v, failed)
	}
	const want = "root.a.ordering-policy.hopper.epsilon=2: it must be a number from 0 to 1"
	for _, order := range []string{"hopper", "fifo"} {
		if _, failed := read(order, "2"); failed != want {
			t.Errorf("%s: %s", order, failed)
		}
	}
	if v, _ := read("fifo", "0.25"); len(v) != 0 {
		t.Errorf("another order has %v", v)
	}
	if !IsSetting("ordering-policy.hopper.epsilon") || IsSetting("ordering-policy.hopper.other") {
		t.Error("what is a setting?")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0.5", "-1", "NaN", "1e400", "", "0x1p-2", "+Inf"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := Setting{Name: "x", Least: 0.1, Most: 10}
		if x, err := s.Parse(text); !(x >= s.Least && x <= s.Most) {
			t.Errorf("%q is %v, %v", text, x, err)
		}
	})
}
