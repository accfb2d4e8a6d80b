package rm

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"heddle/conf"
	"heddle/rm/leader"
	"heddle/rm/queue"
)

// queueSource reads queues from the files of a configuration, and makes them of settings that the ledger holds.
type queueSource struct {
	conf *conf.Config
	kind queue.Kind
}

// Mutable follows yarn.scheduler.configuration.store.class: any store but the files. Which one doesn't matter, as the ledger
// keeps what is changed.
func (s queueSource) Mutable() bool {
	return s.kind == queue.Capacity && s.conf.Text("yarn.scheduler.configuration.store.class") != "file"
}

// file is where the queues are.
func (s queueSource) file() string {
	if s.kind == queue.Fair {
		return queue.FairFile(s.conf)
	}
	return filepath.Join(s.conf.Dir(), queue.CapacityFile)
}

// Read implements leader.QueueSource. Settings are the properties of capacity-scheduler.xml as they are written, or the text
// of fair-scheduler.xml by its name.
func (s queueSource) Read() (map[string]string, time.Time, error) {
	if s.kind == queue.FIFO {
		return nil, time.Time{}, nil
	}
	if _, err := queue.FromConf(s.conf); err != nil { // names file and line, which settings don't have any more
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
	}
	return settings, st.ModTime(), nil
}

// Build implements leader.QueueSource.
func (s queueSource) Build(settings map[string]string) (*queue.Tree, error) {
	switch s.kind {
	case queue.FIFO:
		return queue.Default(queue.FIFO), nil
	case queue.Fair:
		return queue.FairFromText(s.conf, settings[queue.FairFileKey])
	}
	return queue.CapacityFromConf(s.conf.WithValues(queue.CapacityFile, maps.Clone(settings)))
}

// How often the file of a FairScheduler is looked at, and how long it must not have changed, as somebody may be at it
// (Hadoop: AllocationFileLoaderService).
const (
	fairFileInterval = 10 * time.Second
	fairFileRest     = 5 * time.Second
)

// watchFairFile has the leader read the allocation file again when it has changed.
func (r *ResourceManager) watchFairFile(ctx context.Context, l *leader.Leader) {
	source := queueSource{r.conf, queue.Fair}
	changed := func() time.Time {
		st, err := os.Stat(source.file())
		if err != nil {
			return time.Time{}
		}
		return st.ModTime()
	}
	watchFile(ctx, r.fileInterval, changed, l.RefreshQueues, func(err error) {
		for line := range strings.Lines(err.Error()) {
			r.log.WithField("file", source.file()).Error("queues stay as they are: " + strings.TrimSpace(line))
		}
	})
}

// watchFile has a file read again that was changed, until its context ends. What fails is tried again, and told once of each
// change. changed is when the file was changed last, zero if it isn't there.
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
