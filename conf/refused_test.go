package conf

import (
	"strings"
	"testing"
)

// What no scheduler is called, and authentication that can't be had, are refused with what there is.
func TestUnknownSchedulerIsRefused(t *testing.T) {
	for key, value := range map[string]string{
		"yarn.resourcemanager.scheduler.class": "org.example.MyScheduler",
	} {
		c, err := Load(Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.Set(key, value)
		if r := c.Validate(); r.OK() || !strings.Contains(r.Err().Error(), "one of") {
			t.Errorf("%s = %s: %v", key, value, r.Err())
		}
	}
}
