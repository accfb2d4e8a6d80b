package shuffle

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"heddle/internal/userfiles"
	"heddle/yarn/records"
)

// lookPause is how long the service waits between two looks at the outputs of an application: many maps may end at once.
const lookPause = 500 * time.Millisecond

// Bounds of what is known of the outputs of an application here, whatever its user has put there.
const (
	maxAttempts = 100_000
	maxBytes    = 1 << 46
)

// Total sums the outputs of an application's maps on this node.
type Total struct {
	App   records.ApplicationID
	Maps  int64 // attempts with an output
	Bytes int64 // that reducers can fetch
	since int64 // version
}

// totals are how much the maps of applications have put out. They are found out in the background, when a container of the application has
// ended: a heartbeat asks for what is new, and waits for no disk.
type totals struct {
	version atomic.Int64 // of the last change

	mu    sync.Mutex
	apps  map[records.ApplicationID]*seen
	due   []records.ApplicationID // to be looked at
	looks bool                    // a goroutine looks
}

// seen has the outputs of an application that were found.
type seen struct {
	Total
	due      bool
	attempts map[string]struct{}
}

// ContainerEnded makes the service look for outputs that a container of an application has left. It doesn't wait.
func (s *Service) ContainerEnded(app records.ApplicationID) {
	if _, ok := s.job(JobID(app)); !ok {
		return
	}
	t := &s.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.apps[app]
	if a == nil {
		a = &seen{Total: Total{App: app}, attempts: map[string]struct{}{}}
		t.apps[app] = a
	}
	if a.due {
		return
	}
	a.due = true
	t.due = append(t.due, app)
	if t.looks {
		return
	}
	s.mu.RLock() // until Stop waits, or doesn't
	defer s.mu.RUnlock()
	if !s.done {
		t.looks = true
		s.wg.Go(s.look)
	}
}

// look looks at all that is due, and ends when nothing is.
func (s *Service) look() {
	pause := time.NewTimer(lookPause)
	defer pause.Stop()
	for {
		t := &s.totals
		t.mu.Lock()
		due := t.due
		t.due = nil
		for _, app := range due {
			if a := t.apps[app]; a != nil {
				a.due = false
			}
		}
		if t.looks = len(due) > 0; !t.looks {
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		for _, app := range due {
			s.lookAt(app)
		}
		pause.Reset(lookPause)
		select {
		case <-pause.C:
		case <-s.stopped:
			return
		}
	}
}

// lookAt adds the outputs of an application that are new. Those that can't be read are left for the next look: they may be incomplete yet.
func (s *Service) lookAt(app records.ApplicationID) {
	j, ok := s.job(JobID(app))
	t := &s.totals
	t.mu.Lock()
	a := t.apps[app]
	t.mu.Unlock()
	if !ok || a == nil {
		return
	}
	var maps, bytes int64
	for _, dir := range s.cfg.Dirs.Readable() {
		entries, err := userfiles.ReadDir(dir, j.elems()...)
		if err != nil && !errors.Is(err, userfiles.ErrTooMany) {
			if !errors.Is(err, fs.ErrNotExist) {
				s.log.WithError(err).WithField("application", app.String()).Debug("outputs of maps can't be listed")
			}
			continue
		}
		for _, e := range entries {
			name := e.Name()
			if _, known := a.attempts[name]; known || len(a.attempts) >= maxAttempts || !validAttempt(name) {
				continue
			}
			o, err := s.load(j, name, dir)
			if err != nil {
				continue
			}
			a.attempts[name] = struct{}{} // only look reads and writes it
			maps++
			for _, p := range o.partitions {
				bytes = min(bytes+min(p.size, maxBytes), maxBytes)
			}
		}
	}
	if maps == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.apps[app] != a {
		return // it has ended meanwhile
	}
	a.Maps, a.Bytes = a.Maps+maps, min(a.Bytes+bytes, maxBytes)
	a.since = t.version.Add(1)
}

// Totals returns up to most applications whose outputs have changed after a version, the first changes first, and the version up to which
// they are told of by that. Nothing is new if it is the one that was given.
func (s *Service) Totals(after int64, most int) (list []Total, upTo int64) {
	t := &s.totals
	if t.version.Load() == after {
		return nil, after
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.apps {
		if a.since > after {
			list = append(list, a.Total)
		}
	}
	slices.SortFunc(list, func(a, b Total) int { return cmp.Compare(a.since, b.since) })
	if len(list) <= most {
		return list, t.version.Load()
	}
	return list[:most], list[most-1].since
}

// forget drops what is known of an application.
func (t *totals) forget(app records.ApplicationID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.apps, app)
	t.due = slices.DeleteFunc(t.due, func(o records.ApplicationID) bool { return o == app })
}
