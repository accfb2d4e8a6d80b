package nmtest

import (
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/nm/cgroup"
)

// RealGroups logs which kind of cgroups a NodeManager finds on this machine, as the test says something about that kind only: v1, hybrid, v2 or
// none.
func RealGroups(t testing.TB) {
	t.Helper()
	quiet := logrus.New()
	quiet.Out = io.Discard
	d, err := cgroup.Detect(cgroup.Options{ID: fmt.Sprintf("kind:%d", os.Getpid()), Log: logrus.NewEntry(quiet)})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("cgroups %s real", d.Kind())
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
