package auxservices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/nm/javahost"
)

// ErrNotEnabled says that services are those of the configuration.
var ErrNotEnabled = errors.New("the manifest of auxiliary services is not enabled")

// Running is a service, for people.
type Running struct {
	Name    string
	Version *string
	Since   time.Time
}

// List returns the services by name. It fails with ErrNotEnabled.
func (s *Services) List() ([]Running, error) {
	if s.manifest == nil {
		return nil, ErrNotEnabled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Running, 0, len(s.records))
	for _, r := range s.records {
		out = append(out, Running{r.Name, r.Version, r.since})
	}
	slices.SortFunc(out, func(a, b Running) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Change has the services of a list run, and no others. A service that can't be started isn't there afterwards; the others of the list are.
func (s *Services) Change(ctx context.Context, list []Record) error {
	if s.manifest == nil {
		return ErrNotEnabled
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	return s.apply(context.WithoutCancel(ctx), list) // not half of it
}

// runs reports whether there are services.
func (s *Services) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.records) > 0
}

func (s *Services) record(name string) (loaded, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.records[name]
	return r, ok
}

// apply is Change. Its caller holds changing.
func (s *Services) apply(ctx context.Context, list []Record) error {
	var failures []error
	listed := map[string]bool{}
	changed := false
	for _, r := range list {
		listed[r.Name] = true
		if old, known := s.record(r.Name); known && old.same(&r) {
			continue
		}
		changed = true
		s.remove(r.Name)
		if err := s.load(ctx, r); err != nil {
			s.log.WithError(err).Errorf("failed to load auxiliary service %.100s", r.Name)
			failures = append(failures, err)
		}
	}
	s.mu.Lock()
	var gone []string
	for name := range s.records {
		if !listed[name] {
			gone = append(gone, name)
		}
	}
	s.mu.Unlock()
	slices.Sort(gone)
	for _, name := range gone {
		changed = true
		s.remove(name)
	}
	if !changed {
		s.log.Info("no changes of auxiliary services")
	}
	return errors.Join(failures...)
}

// remove stops a service, if there is one of that name.
func (s *Services) remove(name string) {
	s.mu.Lock()
	r, known := s.records[name]
	own := s.own[name]
	delete(s.records, name)
	delete(s.own, name)
	java := s.java
	s.mu.Unlock()
	if !known {
		return
	}
	s.log.Infof("removing auxiliary service %s", name)
	switch {
	case own != nil:
		ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
		defer cancel()
		own.Stop(ctx)
		for _, m := range own.Collectors() {
			s.o.Register.Unregister(m)
		}
	case r.java && java != nil:
		java.Unload(name)
	}
}

// stopPatience is how long a shuffle that goes may send what it has begun to send.
const stopPatience = 5 * time.Second

// load starts a service. There is none of its name.
func (s *Services) load(ctx context.Context, r Record) error {
	if err := r.check(); err != nil {
		return err
	}
	if r.isOwn() {
		return s.loadShuffle(r)
	}
	java, err := s.startJava()
	if err != nil {
		return fmt.Errorf("auxiliary service %s is a Java class, and Java can't be started: %w", r.Name, err)
	}
	if err := java.Load(ctx, r.java()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[r.Name] = loaded{r, true, time.Now()}
	return nil
}

func (s *Services) loadShuffle(r Record) error {
	if err := s.makeShuffle(r); err != nil {
		return err
	}
	s.mu.Lock()
	own, here := s.own[r.Name], s.here
	s.mu.Unlock()
	served, err := startShuffle(own)
	if err != nil {
		s.remove(r.Name)
		return err
	}
	for _, app := range served {
		if here != nil && !here(app) {
			if err := own.StopApplication(app); err != nil {
				return err
			}
		}
	}
	return nil
}

// startJava returns the host of Java services. It makes one without services if there is none.
func (s *Services) startJava() (*javahost.Host, error) {
	if java := s.Java(); java != nil {
		return java, nil
	}
	java, err := s.o.Java(nil)
	if err != nil {
		return nil, err
	}
	if err := java.Start(); err != nil {
		java.Close()
		return nil, err
	}
	s.mu.Lock()
	over, here := s.over, s.here
	if !over {
		s.java = java
	}
	s.mu.Unlock()
	if over {
		java.Close()
		return nil, errOver
	}
	if here != nil {
		java.Recovered(here)
	}
	return java, nil
}

// Changes reports whether services may come and go.
func (s *Services) Changes() bool { return s.manifest != nil }
