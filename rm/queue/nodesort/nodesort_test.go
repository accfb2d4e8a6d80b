package nodesort

import (
	"strings"
	"testing"
	"time"
)

// A queue's policy comes before that of all queues; what YARN's ResourceManager doesn't start with is refused, and nothing is read while the switch is off.
func TestEvery(t *testing.T) {
	on := func(more ...string) map[string]string {
		s := map[string]string{
			EnabledKey: "true", NamesKey: "calm, quick", PolicyKey + ".calm.class": known, PolicyKey + ".quick.class": known, PolicyKey + ".quick.sorting-interval.ms": "0",
		}
		for _, x := range more {
			key, value, _ := strings.Cut(x, "=")
			s[key] = value
		}
		return s
	}
	for name, x := range map[string]struct {
		settings map[string]string
		want     time.Duration
		fails    string // key
	}{
		"nothing":              {},
		"off":                  {settings: on(EnabledKey+"=false", PolicyKey+"=nosuch")},
		"no policy":            {settings: on()},
		"of all queues":        {settings: on(PolicyKey + "=calm"), want: time.Second},
		"of the queue":         {settings: on(PolicyKey+"=calm", "root.a."+PolicyKey+"=quick"), want: 1},
		"of another queue":     {settings: on("root.b." + PolicyKey + "=quick")},
		"an interval":          {settings: on(PolicyKey+"=calm", PolicyKey+".calm.sorting-interval.ms=250"), want: 250 * time.Millisecond},
		"a policy without one": {settings: on("root.a." + PolicyKey + "=nosuch"), fails: "root.a." + PolicyKey},
		"another class":        {settings: on(PolicyKey+"=calm", PolicyKey+".calm.class=org.example.Mine"), fails: PolicyKey + ".calm.class"},
		"no interval":          {settings: on(PolicyKey+"=calm", PolicyKey+".calm.sorting-interval.ms=-1"), fails: PolicyKey + ".calm.sorting-interval.ms"},
		"too long an interval": {settings: on(PolicyKey+"=calm", PolicyKey+".calm.sorting-interval.ms=9999999999999999999"), fails: PolicyKey + ".calm.sorting-interval.ms"},
	} {
		failed := ""
		if got := Every(x.settings, "root.a", func(key, _, _ string) { failed = key }); got != x.want || failed != x.fails {
			t.Errorf("%s: %v, fails %q; want %v, %q", name, got, failed, x.want, x.fails)
		}
	}
	for key, want := range map[string]bool{EnabledKey: true, NamesKey: true, PolicyKey: true, PolicyKey + ".x.class": true, PolicyKey + ".x.sorting-interval.ms": true, PolicyKey + ".x.y": false} {
		if IsSetting(key) != want {
			t.Error(key)
		}
	}
}
