package warming

import (
	"context"
	"fmt"

	"heddle/internal/bounded"
	"heddle/internal/userfiles"
	"heddle/yarn/records"
)

// The links under which the containers of MapReduce's ApplicationMasters have the two files (Hadoop: YARNRunner).
const (
	ListLink  = "jobSubmitDir/job.splitmetainfo"
	SplitLink = "jobSubmitDir/job.split"
)

// Input lists the files that a job will read.
type Input struct {
	App    records.ApplicationID
	Splits []Split
}

// Resources are the paths of the two files, as they were localized.
type Resources struct{ List, Splits string }

// ReadJob reads the list of a job's splits. Its files are the user's: bases are the folders of the node that they are in, and uid is who
// must own them.
func ReadJob(app records.ApplicationID, files Resources, bases []string, uid int) (*Input, error) {
	list, err := read(files.List, bases, uid)
	if err != nil {
		return nil, fmt.Errorf("splits of %v: %w", app, err)
	}
	splits, err := read(files.Splits, bases, uid)
	if err != nil {
		return nil, fmt.Errorf("splits of %v: %w", app, err)
	}
	all, err := Splits(list, splits)
	if err != nil {
		return nil, fmt.Errorf("splits of %v: %w", app, err)
	}
	return &Input{App: app, Splits: all}, nil
}

// Read is ReadJob, for two jobs at a time, as the files may be large: others wait until ctx ends.
func (w *Warmer) Read(ctx context.Context, app records.ApplicationID, files Resources, bases []string, uid int) (*Input, error) {
	select {
	case w.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("splits of %v: %w", app, context.Cause(ctx))
	}
	defer func() { <-w.reading }()
	return ReadJob(app, files, bases, uid)
}

// read reads a file of a user.
func read(path string, bases []string, uid int) ([]byte, error) {
	base, elems, ok := userfiles.Below(bases, path)
	if !ok {
		return nil, fmt.Errorf("%s is not in a local folder", path)
	}
	f, err := userfiles.Open(base, uid, elems...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := bounded.ReadAll(f, maxListSize)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}
