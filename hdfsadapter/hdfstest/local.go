// Package hdfstest gives tests of other packages the file systems that hdfsadapter offers.
package hdfstest

import (
	"testing"

	"heddle/conf"
	"heddle/hdfsadapter"
)

// Local returns the file system of a user where nothing is configured: names without a scheme are local files.
func Local(t testing.TB) *hdfsadapter.FS {
	t.Helper()
	return Adapter(t).As("")
}

// Adapter returns what gives each user the file system that Local is.
func Adapter(t testing.TB) *hdfsadapter.Adapter {
	t.Helper()
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	a, err := hdfsadapter.New(c, hdfsadapter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}
