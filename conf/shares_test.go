package conf

import (
	"maps"
	"strings"
	"testing"
)

func TestShares(t *testing.T) {
	const key = "heddle.probes.users"
	c, err := Load(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Shares(key); err != nil || len(got) > 0 {
		t.Errorf("by default: %v, %v", got, err)
	}
	c.Set(key, "anna:2, ops:0.5:10 ,batch:1:-3")
	want := map[string]Share{"anna": {2, 0}, "ops": {0.5, 10}, "batch": {1, -3}}
	if got, err := c.Shares(key); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for text, why := range map[string]string{
		"anna": "NAME:WEIGHT", ":1": "NAME:WEIGHT", "a:1:2:3": "NAME:WEIGHT", "a:0": "weight", "a:NaN": "weight", "a:-1": "weight", "a:1e9": "weight",
		"a:1:x": "priority", "a:1:5000": "priority", "a:1,a:2": "twice",
	} {
		c.Set(key, text)
		if got, err := c.Shares(key); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}
