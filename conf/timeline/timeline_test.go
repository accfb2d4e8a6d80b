package timeline

import (
	"testing"

	"heddle/conf"
)

// Versions are numbers of Java's; yarn.timeline-service.versions goes before yarn.timeline-service.version.
func TestVersions(t *testing.T) {
	for _, x := range []struct {
		enabled, version, versions string
		v1, v2                     bool
	}{
		{"false", "2.0f", "", false, false},
		{"true", "", "", true, false},
		{"true", "1.5", "", true, false},
		{"true", "2.0f", "", false, true},
		{"true", "2.0f", "1.5f", true, false},
		{"true", "", "1.5f,2.0f", true, true},
		{"true", "3", "", false, false},
		{"true", "two", "", false, false},
	} {
		c, err := conf.Load(conf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range map[string]string{"enabled": x.enabled, "version": x.version, "versions": x.versions} {
			if value != "" {
				c.Set(Prefix+key, value)
			}
		}
		if v1, v2 := Versions(c); v1 != x.v1 || v2 != x.v2 {
			t.Errorf("%+v: %v %v", x, v1, v2)
		}
	}
}
