package store

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
