// Package conftest has configurations for tests.
package conftest

import (
	"testing"

	"heddle/conf"
)

// With returns a configuration of defaults alone, but for some keys.
func With(t testing.TB, keys map[string]string) *conf.Config {
	t.Helper()
	c, err := conf.Load(conf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		c.Set(key, value)
	}
	return c
}
