package store

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/imagetest"
	"heddle/nm/image/layer"
	"heddle/nm/image/oci"
)

// A container whose layer is there doesn't wait while another layer is deleted, however long that takes. A process that dies meanwhile leaves
// nothing of it.
func TestNoContainerWaitsForADeletion(t *testing.T) {
	log := logrus.New()
	log.Out = io.Discard
	cfg := Config{Dir: t.TempDir(), MaxBytes: 6000, Image: layer.Limits{Bytes: 1 << 20, Entries: 100}, Log: logrus.NewEntry(log)}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) []oci.Layer {
		archive := []byte(imagetest.Tar(t, imagetest.File(name, strings.Repeat("x", 2000))))
		return []oci.Layer{{DiffID: imagetest.Digest(archive), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }}}
	}
	began, let := make(chan string, 1), make(chan struct{})
	s.remove = func(dir string) error {
		began <- dir
		<-let
		return nil // as if the process died
	}
	hold := func(holder, name string) {
		t.Helper()
		if _, err := s.Hold(t.Context(), holder, of(name)); err != nil {
			t.Fatal(err)
		}
	}
	hold("1", "a")
	hold("2", "b")
	s.Release("1")
	ended := make(chan error, 1)
	go func() {
		_, err := s.Hold(t.Context(), "3", of("c"))
		ended <- err
	}()
	dir := <-began
	hold("4", "b")
	if n, bytes := s.Size(); n != 1 || bytes > 3000 {
		t.Errorf("%d layers with %d bytes while one is deleted", n, bytes)
	}
	close(let)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, content, "a")); err != nil {
		t.Errorf("it was deleted: %v", err)
	}
	s.Close()
	if s, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// A layer that no container has used for long goes, and not one that another image shares and that is in use, nor one that was used before a restart.
func TestOldLayersGo(t *testing.T) {
	log := logrus.New()
	log.Out = io.Discard
	cfg := Config{Dir: t.TempDir(), MaxBytes: 1 << 20, MaxAge: time.Hour, Image: layer.Limits{Bytes: 1 << 20, Entries: 100}, Log: logrus.NewEntry(log)}
	now := time.Now()
	open := func() *Store {
		t.Helper()
		s, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.now = func() time.Time { return now }
		s.mu.Unlock()
		return s
	}
	of := func(names ...string) (list []oci.Layer) {
		for _, name := range names {
			archive := []byte(imagetest.Tar(t, imagetest.File(name, name)))
			list = append(list, oci.Layer{DiffID: imagetest.Digest(archive), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }})
		}
		return list
	}
	s := open()
	for holder, names := range map[string][]string{"1": {"shared", "a"}, "2": {"shared", "b"}, "3": {"c"}} {
		if _, err := s.Hold(t.Context(), holder, of(names...)); err != nil {
			t.Fatal(err)
		}
	}
	s.settling.Wait() // it has the real time
	s.Release("1")    // a is free, and shared is 2's
	left := func() (n int) {
		t.Helper()
		if err := s.shrink(0); err != nil {
			t.Fatal(err)
		}
		n, _ = s.Size()
		return n
	}
	now = now.Add(59 * time.Minute)
	if n := left(); n != 4 {
		t.Errorf("%d layers are left of 4", n)
	}
	s.Release("3")
	now = now.Add(2 * time.Minute)
	if n := left(); n != 3 {
		t.Errorf("%d layers are left; a should be gone", n)
	}
	s.Close()
	s = open()
	defer s.Close()
	if n := left(); n != 3 {
		t.Errorf("%d layers are left; c was used 2 minutes before the restart", n)
	}
	now = now.Add(time.Hour)
	if n := left(); n != 2 {
		t.Errorf("%d layers are left; a living container holds two", n)
	}
	now = now.Add(-24 * time.Hour) // the clock was wrong
	s.Release("2")
	if n := left(); n != 2 {
		t.Errorf("%d layers are left after the clock went back", n)
	}
}
