// Package recordtest records simulated clusters, for tests of what reads records.
package recordtest

import (
	"path/filepath"
	"testing"

	"heddle/conf"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/yarn/records"
)

// Slot is the smallest container of the recorded clusters.
var Slot = records.NewResource(1024, 1)

// Recorder returns a driver of queues whose events go to a file. They begin at a time, in ms since 1970.
func Recorder(t testing.TB, queues *eventlog.Source, begin int64) (d *eventlog.Recorder, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "events.log")
	log, err := eventlog.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, types, err := queues.Tree()
	if err != nil {
		t.Fatal(err)
	}
	d, err = eventlog.New(scheduler.Config{Tree: tree, Types: types, Minimum: Slot}, log, queues, eventlog.Header{Heddle: conf.Version, Time: begin})
	if err != nil {
		t.Fatal(err)
	}
	return d, file
}

// Play has a driver decide for a cluster until its jobs have ended, and closes its file.
func Play(t testing.TB, d *eventlog.Recorder, nodes sim.Nodes, jobs []sim.Job) {
	t.Helper()
	c, err := sim.NewCluster(d, nodes, jobs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
