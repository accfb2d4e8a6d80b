package mapreduce

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/am/staging"
	"heddle/conf"
	"heddle/hdfsadapter/hdfstest"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

func testStaging(t *testing.T, base string) *stagingRoot {
	t.Helper()
	c, err := conf.Load(conf.Options{Getenv: func(string) (string, bool) { return "", false }, Overrides: []string{staging.Key + "=" + base}})
	if err != nil {
		t.Fatal(err)
	}
	root, err := staging.New(hdfstest.Local(t), c, "somebody")
	if err != nil {
		t.Fatal(err)
	}
	return &stagingRoot{root}
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
	left, err := os.ReadDir(strings.TrimPrefix(s.Own+"/.staging", "file://"))
	if err != nil || len(left) != 4 {
		t.Errorf("%v, %v", left, err)
	}
}
