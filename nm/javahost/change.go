package javahost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"heddle/hdfsadapter/jvm"
)

// running returns the services that run, or would if there were a JVM.
func (h *Host) running() []Service {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.services)
}

// runs reports whether a service is among them. The caller has the lock.
func (h *Host) runs(name string) bool {
	return slices.ContainsFunc(h.services, func(s Service) bool { return s.Name == name })
}

// request describes a service to the JVM.
func (h *Host) request(s Service) []byte {
	var files []string
	for _, f := range s.Files {
		files = append(files, f.Type, f.Source)
	}
	var m jvm.Message
	m.Text(s.Name).Text(s.Class).Text(s.ClassPath).Texts(files).Texts(s.System).Text(filepath.Join(h.cfg.Recovery, s.Name)).Texts(s.Properties)
	return m.B
}

// leavers returns the calls that stop services which were taken out while a JVM started with them, and takes them out of its metadata. The caller has the lock.
func (h *Host) leavers(started []Service, metadata map[string][]byte) (all []*event) {
	for _, s := range started {
		if !h.runs(s.Name) {
			delete(metadata, s.Name)
			all = append(all, unload(s.Name))
		}
	}
	return all
}

func unload(name string) *event {
	var m jvm.Message
	m.Text(name)
	return &event{
		op: opUnload, args: m.B, what: "the end of auxiliary service " + name,
		took: func([]byte) error { return nil },
	}
}

// Load starts a service in the JVM, after one of the same name has stopped, and returns when that runs. Living applications are not told to it, as in Hadoop, unless
// another JVM starts. After an error there is no service of that name: one that throws, ends its JVM or takes longer than Config.Patience isn't tried again.
func (h *Host) Load(ctx context.Context, s Service) error {
	e := &event{
		op: opLoad, args: h.request(s), what: "the start of auxiliary service " + s.Name,
		done: make(chan error, 1),
	}
	e.took = func(reply []byte) error {
		f := jvm.Fields{B: reply}
		data := f.Bytes()
		if f.Err != nil {
			return f.Err
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.services = append(h.services, s)
		if data != nil {
			h.metadata[s.Name] = data
		}
		return nil
	}
	h.takeOut(s.Name)
	ctx, cancel := context.WithTimeout(ctx, h.cfg.Patience+longestPause)
	defer cancel()
	for {
		ready, queued := h.enter(e, func(*ledger) {})
		if queued {
			break
		}
		select {
		case <-ready:
		case <-h.ctx.Done():
			return h.ctx.Err()
		case <-ctx.Done():
			return fmt.Errorf("auxiliary service %s: %w: try again later", s.Name, errDied)
		}
	}
	if err := <-e.done; err != nil { // Config.Patience bounds it
		return fmt.Errorf("auxiliary service %s (%s) can't be started: %w%s", s.Name, s.Class, err, remedy(s, err))
	}
	h.log.Infof("auxiliary service %s has started", s.Name)
	return nil
}

// Unload stops a service. It returns when that has stopped, or there is no JVM.
func (h *Host) Unload(name string) {
	if !h.takeOut(name) {
		return
	}
	e := unload(name)
	e.done = make(chan error, 1)
	if _, queued := h.enter(e, func(*ledger) {}); queued && <-e.done == nil {
		h.log.Infof("auxiliary service %s has stopped", name)
	}
}

// Died reports whether an error says that there was no JVM for a call, which so can be made again. It is false of a call that has ended its JVM.
func Died(err error) bool {
	var cause *lost
	return errors.Is(err, errDied) && !errors.As(err, &cause)
}

// takeOut has no further JVM start a service, and reports whether there was one.
func (h *Host) takeOut(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.services)
	h.services = slices.DeleteFunc(h.services, func(s Service) bool { return s.Name == name })
	delete(h.metadata, name)
	return len(h.services) < before
}
