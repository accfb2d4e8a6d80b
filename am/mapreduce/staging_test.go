package mapreduce

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/am/mapreduce/job"
	"heddle/conf"
	"heddle/hdfsadapter/hdfstest"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func testStaging(t *testing.T, base string) *stagingRoot {
	t.Helper()
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }, Overrides: []string{job.KeyStaging + "=" + base}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStagingRoot(hdfstest.Local(t), c, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The first user made the folder of all users for itself alone.
func TestStagingFolderIsForAllUsers(t *testing.T) {
	base := filepath.Join(t.TempDir(), "a", "staging")
	s := testStaging(t, base)
	for range 2 {
		if err := s.prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]fs.FileMode{base: 0o777 | fs.ModeSticky, filepath.Join(base, "somebody"): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode()&^fs.ModeDir != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	s.user = "another"
	if err := s.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "not to another") {
		t.Errorf("a folder of somebody else's: %v", err)
	}
}

// A job that was killed in the background left its staged files behind for good.
func TestStagedFilesOfKilledJobsAreSweptAway(t *testing.T) {
	s := testStaging(t, t.TempDir())
	app := func(stamp int64, n int32) records.ApplicationID {
		return records.ApplicationID{ClusterTimestamp: stamp, ID: n}
	}
	ended, runs, young, forgotten, foreign, mine := app(1, 1), app(1, 2), app(1, 3), app(1, 4), app(2, 1), app(1, 9)
	now := time.Now()
	for _, id := range []records.ApplicationID{ended, runs, young, forgotten, foreign, mine} {
		if err := os.MkdirAll(strings.TrimPrefix(s.folder(id), "file://"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Add(-2 * sweepUnheard)
	if err := os.Chtimes(strings.TrimPrefix(s.folder(forgotten), "file://"), old, old); err != nil {
		t.Fatal(err)
	}
	removed, err := s.sweep(t.Context(), mine, func(_ context.Context, id records.ApplicationID) (client.Report, error) {
		switch id {
		case ended:
			return client.Report{State: pb.YarnApplicationState_KILLED}, nil
		case runs:
			return client.Report{State: pb.YarnApplicationState_RUNNING}, nil
		case young, forgotten:
			return client.Report{}, &ipc.RemoteError{Class: ipc.ApplicationNotFound}
		}
		t.Errorf("asked for %v", id)
		return client.Report{}, nil
	}, now)
	slices.Sort(removed)
	if want := []string{ended.String(), forgotten.String()}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("%v, %v", removed, err)
	}
	left, err := os.ReadDir(strings.TrimPrefix(s.own+"/.staging", "file://"))
	if err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
}
