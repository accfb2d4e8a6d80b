package rm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/leader"
	"heddle/rm/queue"
	"heddle/rm/queue/mapping"
)

// queueSource reads queues from a configuration's files, and builds them from settings in the ledger.
type queueSource struct {
	conf *conf.Config
	kind queue.Kind
}

// Mutable reports whether yarn.scheduler.configuration.store.class names any store but the files. Which one doesn't matter, because the
// ledger keeps the changes.
func (s queueSource) Mutable() bool {
	return s.kind == queue.Capacity && s.conf.Text("yarn.scheduler.configuration.store.class") != "file"
}

// file returns the path of the file that has the queues.
func (s queueSource) file() string {
	if s.kind == queue.Fair {
		return queue.FairFile(s.conf)
	}
	return filepath.Join(s.conf.Dir(), queue.CapacityFile)
}

// Read implements queueconf.Source. Settings are the properties of capacity-scheduler.xml as written, or the text
// of fair-scheduler.xml under its name.
func (s queueSource) Read() (map[string]string, time.Time, error) {
	if s.kind == queue.FIFO {
		return nil, time.Time{}, nil
	}
	if _, err := queue.FromConf(s.conf); err != nil { // names file and line, which settings lack
		return nil, time.Time{}, err
	}
	settings := map[string]string{}
	st, err := os.Stat(s.file())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return settings, time.Time{}, nil
	case err != nil:
		return nil, time.Time{}, err
	case s.kind == queue.Fair:
		b, err := os.ReadFile(s.file())
		if err != nil {
			return nil, time.Time{}, err
		}
		settings[queue.FairFileKey] = string(b)
	default:
		props, err := conf.LoadFile(s.file())
		if err != nil {
			return nil, time.Time{}, err
		}
		for p := range props.All() {
			settings[p.Name] = p.Value
		}
		if !s.Mutable() { // the store has no files beside it: each leader reads its own
			err = mapping.Keep(s.conf.Dir(), queue.Prefix, settings)
		}
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("%smapping-rule-json-file: %w", queue.Prefix, err)
		}
	}
	return settings, st.ModTime(), nil
}

// Build implements queueconf.Source.
func (s queueSource) Build(settings map[string]string) (*queue.Tree, error) {
	switch s.kind {
	case queue.FIFO:
		return queue.Default(queue.FIFO), nil
	case queue.Fair:
		return queue.FairFromText(s.conf, settings[queue.FairFileKey])
	}
	return queue.CapacityFromConf(s.conf.WithValues(queue.CapacityFile, maps.Clone(settings)))
}

// How often a FairScheduler's file is checked, and how long it must be unchanged before it is read, as an administrator may still be
// editing it (Hadoop: AllocationFileLoaderService).
const (
	fairFileInterval = 10 * time.Second
	fairFileRest     = 5 * time.Second
)

// watchFairFile makes the leader read the allocation file again when it has changed.
func (r *ResourceManager) watchFairFile(ctx context.Context, l *leader.Leader) {
	source := queueSource{r.conf, queue.Fair}
	changed := func() time.Time {
		st, err := os.Stat(source.file())
		if err != nil {
			return time.Time{}
		}
		return st.ModTime()
	}
	watchFile(ctx, r.fileInterval, changed, l.QueueConf().Refresh, func(err error) {
		for line := range strings.Lines(err.Error()) {
			r.log.WithField("file", source.file()).Error("the queues stay unchanged: " + strings.TrimSpace(line))
		}
	})
}

// watchFile calls read when a file has changed, until its context ends. It retries a failed read, and calls tell once for each
// change that failed. changed returns the file's modification time, zero if there is no file.
func watchFile(ctx context.Context, interval time.Duration, changed func() time.Time, read func() error, tell func(error)) {
	seen := changed()
	var failed time.Time
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		at := changed()
		if at.IsZero() || at.Equal(seen) || time.Since(at) < fairFileRest {
			continue
		}
		if err := read(); err == nil {
			seen = at
		} else if !at.Equal(failed) {
			failed = at
			tell(err)
		}
	}
}
