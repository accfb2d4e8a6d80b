package mapreduce

import (
	"context"
	"path"
	"time"

	"heddle/am/client"
	"heddle/am/staging"
	"heddle/internal/pause"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// stagingRoot is the folder for a user's staged files. Those of a job lie in .staging/<application>, as Hadoop's do.
type stagingRoot struct{ *staging.Root }

func (s *stagingRoot) folder(app records.ApplicationID) string {
	return s.Own + "/.staging/" + app.String()
}

// Bounds of a sweep.
const (
	sweepTime     = 5 * time.Second
	sweepMost     = 20
	sweepUnheard  = 24 * time.Hour // age of staged files of an application that the ResourceManager doesn't know
	sweepPatience = 2 * time.Second
)

// report tells what has become of an application.
type report func(ctx context.Context, id records.ApplicationID) (client.Report, error)

// sweep removes staged files of the user's jobs that are over, and whose ApplicationMaster was killed before it could do so.
// Only applications of the same cluster as app are looked at: others may share the folder.
func (s *stagingRoot) sweep(ctx context.Context, app records.ApplicationID, ask report, now time.Time) (removed []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	list, err := s.Files.List(ctx, s.Own+"/.staging")
	if err != nil {
		return nil, err
	}
	asked := 0
	for _, f := range list {
		id, err := records.ParseApplicationID(f.Name)
		if err != nil || id == app || id.ClusterTimestamp != app.ClusterTimestamp {
			continue
		}
		if asked++; asked > sweepMost {
			break
		}
		r, err := ask(ctx, id)
		switch {
		case err == nil && r.Ended():
		case ipc.IsClass(err, ipc.ApplicationNotFound) && now.Sub(time.UnixMilli(f.ModTime)) > sweepUnheard:
			// A younger one may be about to be submitted.
		default:
			continue
		}
		if err := s.Files.RemoveAll(ctx, f.Path); err != nil {
			return removed, err
		}
		removed = append(removed, path.Base(f.Path))
	}
	return removed, nil
}

// killed reports whether an application was killed. It waits a moment for that to be seen.
func killed(ctx context.Context, ask report, id records.ApplicationID) bool {
	for ctx.Err() == nil {
		r, err := ask(ctx, id)
		if err == nil && r.Ended() {
			return r.State == pb.YarnApplicationState_KILLED
		}
		if pause.For(ctx, 50*time.Millisecond) != nil {
			break
		}
	}
	return false
}
