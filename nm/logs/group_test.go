package logs

import (
	"slices"
	"testing"

	"github.com/sirupsen/logrus"
)

// The root of logs had whatever group the file system gives, so that a history server with an account of its own couldn't read them.
func TestTheRootOfLogsHasTheNodesGroup(t *testing.T) {
	d := &diskFS{root: t.TempDir()}
	a := &Aggregator{cfg: Config{Place: Place{Root: "/logs"}, Group: "hadoop"}, log: logrus.NewEntry(logrus.New()), ctx: t.Context()}
	if err := a.checkRoot(d.As("")); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(d.calls, "chown :hadoop /logs") {
		t.Errorf("%q", d.calls)
	}
	d.calls = nil
	again := &Aggregator{cfg: a.cfg, log: a.log, ctx: t.Context()}
	if err := again.checkRoot(d.As("")); err != nil || slices.ContainsFunc(d.calls, func(c string) bool { return c[:5] == "chown" }) {
		t.Errorf("one that is there already: %q, %v", d.calls, err)
	}
}
