package mapreduce

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"path"
	"strings"
	"time"

	"heddle/am/client"
	"heddle/am/mapreduce/job"
	"heddle/conf"
	"heddle/hdfsadapter"
	"heddle/internal/pause"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Staged files of a job lie in <yarn.app.mapreduce.am.staging-dir>/<user>/.staging/<application>, as Hadoop's do. The folder
// of all users is one that everybody may make folders in, as /tmp; a user's own is nobody else's business.

// stagingRoot is the folder for a user's staged files.
type stagingRoot struct {
	files *hdfsadapter.FS
	base  string // of all users
	own   string
	user  string // who owns what the user makes there
}

func newStagingRoot(files *hdfsadapter.FS, c *conf.Config, name string) (*stagingRoot, error) {
	base, ok := c.Get(job.KeyStaging)
	if !ok || base == "" {
		base = "/tmp/hadoop-yarn/staging"
	}
	at, err := files.Locate(strings.TrimRight(base, "/"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", job.KeyStaging, err)
	}
	s := &stagingRoot{files: files, base: at.String(), user: name}
	s.own = strings.TrimRight(s.base, "/") + "/" + name
	if at.Scheme == hdfsadapter.SchemeFile {
		// Of local files the owner is who runs this, whoever submits.
		if u, err := user.Current(); err == nil {
			s.user = u.Username
		}
	}
	return s, nil
}

func (s *stagingRoot) folder(app records.ApplicationID) string {
	return s.own + "/.staging/" + app.String()
}

// StagingError says that files can't be staged.
type StagingError struct {
	Folder string
	Err    error
}

func (e *StagingError) Error() string {
	return fmt.Sprintf("staging folder %s: %v (%s)", e.Folder, e.Err, job.KeyStaging)
}

func (e *StagingError) Unwrap() error { return e.Err }

// shared are the permissions of the folder of all users.
const shared = 0o777 | fs.ModeSticky

// prepare makes the folders.
func (s *stagingRoot) prepare(ctx context.Context) error {
	_, err := s.files.Stat(ctx, s.base)
	if errors.Is(err, fs.ErrNotExist) {
		if err = s.files.MkdirAll(ctx, s.base, shared); err == nil {
			err = s.files.Chmod(ctx, s.base, shared)
		}
		// Another user may have made it in between.
		if _, there := s.files.Stat(ctx, s.base); there == nil && errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	if err != nil {
		return &StagingError{s.base, err}
	}
	err = s.files.MkdirAll(ctx, s.own, 0o700)
	if errors.Is(err, fs.ErrPermission) {
		if info, e := s.files.Stat(ctx, s.base); e == nil {
			err = fmt.Errorf("it belongs to %s and has mode %#o: its owner, or an administrator, lets others in with chmod 1777; or name another one: %w",
				info.Owner, info.Mode.Perm(), err)
		}
		return &StagingError{s.base, err}
	}
	if err != nil {
		return &StagingError{s.own, err}
	}
	info, err := s.files.Stat(ctx, s.own)
	switch {
	case err != nil:
		return &StagingError{s.own, err}
	case info.Owner != s.user:
		return &StagingError{s.own, fmt.Errorf("it belongs to %s, not to %s: remove it", info.Owner, s.user)}
	case info.Mode.Perm()&0o022 != 0:
		if err := s.files.Chmod(ctx, s.own, 0o700); err != nil {
			return &StagingError{s.own, err}
		}
	}
	return nil
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
	list, err := s.files.List(ctx, s.own+"/.staging")
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
		if err := s.files.RemoveAll(ctx, f.Path); err != nil {
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
