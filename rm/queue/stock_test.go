package queue

import (
	"strings"
	"testing"

	"heddle/conf"
)

// A resource that the cluster lacks, and a maximum above 100 %, kept a ResourceManager from starting with folders that YARN takes.
func TestWhatYARNTakesIsAWarning(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		warning  string
	}{
		"an unknown resource":      {[]string{"root.queues=a", "root.a.capacity=[memory=10,vcores=1,gpu=1]"}, `"gpu" is not a resource of this cluster`},
		"a maximum of 200 percent": {[]string{"root.queues=a", "root.a.capacity=100", "root.a.maximum-capacity=200"}, "counts as 100"},
		"a boolean that is none":   {[]string{"root.queues=a", "root.a.capacity=100", "root.a.disable_preemption=perhaps"}, "it counts as true"},
		"another one":              {[]string{"root.queues=a", "root.a.capacity=100", "lazy-preemption-enabled=1"}, "it counts as false"},
	} {
		settings := map[string]string{}
		for _, s := range c.settings {
			key, value, _ := strings.Cut(s, "=")
			settings[key] = value
		}
		tree, err := ParseCapacity(settings)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p := tree.Problems; len(p) != 1 || p[0].Severity != conf.Warning || !strings.Contains(p[0].Message, c.warning) {
			t.Errorf("%s: %v, want a warning with %q", name, p, c.warning)
		}
		for _, q := range tree.queues {
			if q.AbsoluteMaximum > 1 {
				t.Errorf("%s: %+v", name, q)
			}
		}
	}
}

// After an error for shares that don't add up nothing said that a queue was misspelt, which is why they didn't.
func TestAMisspeltQueueIsNamedBesideAnError(t *testing.T) {
	tree, err := ParseCapacity(map[string]string{"root.queues": "a,prod", "root.a.capacity": "40", "root.prodd.capacity": "60"})
	if err == nil {
		t.Fatal("the queues are taken")
	}
	if p := tree.Problems; len(p) != 1 || !strings.Contains(p[0].Message, "there is no queue root.prodd") {
		t.Errorf("warnings beside %v: %v", err, p)
	}
}
