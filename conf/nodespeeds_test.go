package conf

import (
	"slices"
	"strings"
	"testing"
)

func TestNodeSpeeds(t *testing.T) {
	const key = "heddle.scheduler.node-speeds"
	c, err := Load(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c.Set(key, "gpu-*=3, node[1-4].example.com=0.5")
	want := []NodeSpeed{{"gpu-*", 3}, {"node[1-4].example.com", .5}}
	if got, err := ParseNodeSpeeds(c.Text(key)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, why := range map[string]string{
		"a": "HOST=SPEED", "=2": "HOST=SPEED", "a=0": "HOST=SPEED", "a=-1": "HOST=SPEED", "a=NaN": "HOST=SPEED", "a=Inf": "HOST=SPEED",
		"a=1e9": "from 1e-06 to 1e+06", "a=fast": "HOST=SPEED", "[a=1": "not a pattern",
	} {
		c.Set(key, text)
		got, err := ParseNodeSpeeds(c.Text(key))
		if err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), strings.TrimSuffix(text, "=1")) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
		if found := c.Validate().Problems; !slices.ContainsFunc(found, func(p Problem) bool { return p.Key == key && p.Severity == Error }) {
			t.Errorf("%q passes as a setting", text)
		}
	}
}
