package conf

import (
	"strings"
	"testing"
)

// A daemon that somebody believes to be protected, and that isn't, doesn't start.
func TestProtectionWithoutEffectIsRefused(t *testing.T) {
	for _, p := range protections {
		c, err := Load(Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Protected(); err != nil {
			t.Fatalf("defaults: %v", err)
		}
		if p.harmless != "" {
			c.Set(p.key, p.harmless)
			if err := c.Protected(); err != nil {
				t.Errorf("%s = %s: %v", p.key, p.harmless, err)
			}
		}
		c.Set(p.key, "true")
		if err := c.Protected(); err == nil || !strings.Contains(err.Error(), p.key) || !strings.Contains(err.Error(), "set it") && !strings.Contains(err.Error(), "unset it") {
			t.Errorf("%s: %v", p.key, err)
		}
	}
}

// What no scheduler is called, and authentication that can't be had, are refused with what there is.
func TestUnknownSchedulerIsRefused(t *testing.T) {
	for key, value := range map[string]string{
		"yarn.resourcemanager.scheduler.class": "org.example.MyScheduler", "hadoop.security.authentication": "kerberos", "hadoop.rpc.protection": "privacy", "yarn.http.policy": "HTTPS_ONLY",
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
