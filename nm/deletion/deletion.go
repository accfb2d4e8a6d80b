// Package deletion removes folders in the background, after an optional delay
// (yarn.nodemanager.delete.debug-delay-sec). Accepted deletions are stored, and also happen after a restart.
//
// It has the NodeManager's rights on folders that users filled. So it never leaves the folders that it was made for: it
// refuses a path outside of them. It removes symbolic links and doesn't follow them, wherever in a path they are.
package deletion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
)

// Bucket stores tasks (nm/store).
type Bucket interface {
	PutJSON(key string, value any) error
	Delete(key string) error
	ForEach(prefix string, f func(key string, value []byte) error) error
}

// Options say what may be deleted and when.
type Options struct {
	Roots   []string      // deletes only below these
	Delay   time.Duration // before each deletion; negative: never delete
	Workers int           // number of deletions at a time
	Bucket  Bucket
	Log     *logrus.Entry
}

// retries bounds how often a failed deletion is repeated. The first pause is a second, and each further one twice as
// long.
const retries = 8

// Service deletes folders. It is safe for concurrent use.
type Service struct {
	o    Options
	wake chan struct{}

	mu    sync.Mutex
	tasks map[string]*task
	last  uint64 // largest key in use
}

type task struct {
	Path  string    `json:"path"`
	Due   time.Time `json:"due"`
	Tries int       `json:"tries,omitempty"`

	running bool
}

// New returns a service with the tasks in its bucket. It deletes nothing before Run.
func New(o Options) (*Service, error) {
	s := &Service{o: o, wake: make(chan struct{}, 1), tasks: make(map[string]*task)}
	err := o.Bucket.ForEach("", func(key string, value []byte) error {
		t := new(task)
		err := json.Unmarshal(value, t)
		n, err2 := strconv.ParseUint(key, 16, 64)
		if err = errors.Join(err, err2); err != nil {
			o.Log.WithField("key", key).WithError(err).Error("removing the record of a deletion, which is damaged: what was to be deleted may stay")
			return o.Bucket.Delete(key)
		}
		s.last = max(s.last, n)
		s.tasks[key] = t
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("remember what is to be deleted: %w", err)
	}
	return s, nil
}

// Delete schedules the deletion of paths after the delay.
func (s *Service) Delete(paths ...string) error { return s.schedule(s.o.Delay, paths) }

// DeleteNow schedules the deletion of paths at once, unless the delay is negative.
func (s *Service) DeleteNow(paths ...string) error { return s.schedule(min(s.o.Delay, 0), paths) }

// DeleteAfter schedules the deletion of paths after another delay, such as the time for which logs are kept.
func (s *Service) DeleteAfter(delay time.Duration, paths ...string) error {
	return s.schedule(max(delay, 0), paths)
}

func (s *Service) schedule(delay time.Duration, paths []string) error {
	if delay < 0 {
		return nil
	}
	var errs []error
	for _, p := range paths {
		if err := s.add(p, time.Now().Add(delay)); err != nil {
			errs = append(errs, err)
		}
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return errors.Join(errs...)
}

func (s *Service) add(path string, due time.Time) error {
	path = filepath.Clean(path)
	if err := s.check(path); err != nil {
		return err
	}
	t := &task{Path: path, Due: due}
	s.mu.Lock()
	s.last++
	key := fmt.Sprintf("%016x", s.last)
	s.mu.Unlock()
	if err := s.o.Bucket.PutJSON(key, t); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks[key] = t
	return nil
}

// check refuses a path that isn't strictly below a root.
func (s *Service) check(path string) error {
	if _, _, ok := userfiles.Below(s.o.Roots, path); ok {
		return nil
	}
	return fmt.Errorf("%s is not deleted: it is not below any of %s", path, strings.Join(s.o.Roots, ", "))
}

// Pending returns the paths that will be deleted.
func (s *Service) Pending() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, t := range s.tasks {
		out = append(out, t.Path)
	}
	slices.Sort(out)
	return out
}

// Drain returns when no deletion is due, or ctx ends. Run must be running.
func (s *Service) Drain(ctx context.Context) error {
	for {
		due := 0
		s.mu.Lock()
		for _, t := range s.tasks {
			if t.Tries == 0 && !t.Due.After(time.Now()) {
				due++
			}
		}
		s.mu.Unlock()
		if due == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d folders are not deleted yet: %w", due, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Run deletes until ctx ends. It returns when no deletion is under way.
func (s *Service) Run(ctx context.Context) {
	var working sync.WaitGroup
	defer working.Wait()
	free := make(chan struct{}, max(1, s.o.Workers))
	for {
		key, t, wait := s.next()
		if t == nil {
			timer := time.NewTimer(wait)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			case <-s.wake:
				timer.Stop()
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case free <- struct{}{}:
		}
		working.Go(func() {
			s.run(key, t)
			<-free
			select { // a failed task has a new time
			case s.wake <- struct{}{}:
			default:
			}
		})
	}
}

// next returns the task that is due first. If none is due, it returns how long to wait.
func (s *Service) next() (key string, t *task, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, c := range s.tasks {
		if !c.running && (t == nil || c.Due.Before(t.Due)) {
			key, t = k, c
		}
	}
	if t == nil {
		return "", nil, time.Hour
	}
	if wait = time.Until(t.Due); wait > 0 {
		return "", nil, wait
	}
	t.running = true
	return key, t, 0
}

func (s *Service) run(key string, t *task) {
	log := s.o.Log.WithField("path", t.Path)
	err := s.check(t.Path) // the roots may have changed since
	if err == nil {
		base, elems, _ := userfiles.Below(s.o.Roots, t.Path)
		if err = userfiles.RemoveAll(base, elems...); err == nil {
			log.Debug("deleted")
		}
	} else {
		t.Tries = retries
	}
	if err != nil && t.Tries < retries {
		log.WithError(err).Warn("could not delete; trying again")
		s.mu.Lock()
		t.Due = time.Now().Add(time.Second << t.Tries)
		t.Tries++
		t.running = false
		s.mu.Unlock()
		if err := s.o.Bucket.PutJSON(key, t); err != nil {
			log.WithError(err).Warn("could not record a deletion")
		}
		return
	}
	if err != nil {
		log.WithError(err).Error("could not delete; giving up")
	}
	if err := s.o.Bucket.Delete(key); err != nil {
		log.WithError(err).Warn("could not remove the record of a deletion; it will be repeated after a restart")
	}
	s.mu.Lock()
	delete(s.tasks, key)
	s.mu.Unlock()
}
