package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus"

	"heddle/internal/imagetest"
	"heddle/nm/image/layer"
	"heddle/nm/image/oci"
	"heddle/nm/image/store"
)

func open(t *testing.T, dir string, most int64) *store.Store {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to other users")
	}
	log := logrus.New()
	log.Out = io.Discard
	s, err := store.Open(store.Config{Dir: dir, MaxBytes: most, Image: layer.Limits{Bytes: 1 << 20, Entries: 100}, Log: logrus.NewEntry(log)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// of returns a layer with a file of that many bytes, and how often it was read.
func of(t *testing.T, name string, bytesLong int) (oci.Layer, *atomic.Int32) {
	t.Helper()
	archive := []byte(imagetest.Tar(t, imagetest.File(name, strings.Repeat("x", bytesLong))))
	opened := new(atomic.Int32)
	return oci.Layer{DiffID: imagetest.Digest(archive), Open: func() (io.ReadCloser, error) {
		opened.Add(1)
		return io.NopCloser(bytes.NewReader(archive)), nil
	}}, opened
}

func TestContainersShareLayers(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	a, opened := of(t, "a", 100)
	b, _ := of(t, "b", 100)
	var together sync.WaitGroup
	for i := range 20 {
		together.Go(func() {
			dirs, err := s.Hold(t.Context(), fmt.Sprint("c", i), []oci.Layer{a, b, a})
			if err != nil || len(dirs) != 3 || dirs[0] != dirs[2] {
				t.Errorf("%v, %v", dirs, err)
				return
			}
			if _, err := os.Stat(filepath.Join(dirs[1], "b")); err != nil {
				t.Error(err)
			}
		})
	}
	together.Wait()
	if n := opened.Load(); n != 1 {
		t.Errorf("it was unpacked %d times", n)
	}
	if n, size := s.Size(); n != 2 || size < 200 || size > 4000 {
		t.Errorf("%d layers of %d bytes", n, size)
	}
}

// Layers that no container holds make room, the least recently used first. Those that one holds stay, also after a restart.
func TestLayersThatNoContainerHoldsMakeRoom(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 3000)
	var all []oci.Layer
	for i := range 4 {
		l, _ := of(t, fmt.Sprint(i), 400)
		all = append(all, l)
	}
	hold := func(holder string, layers ...oci.Layer) error {
		_, err := s.Hold(t.Context(), holder, layers)
		return err
	}
	there := func() (have []int) {
		for i, l := range all {
			if _, err := os.Stat(filepath.Join(dir, "layers", l.DiffID, "content")); err == nil {
				have = append(have, i)
			}
		}
		return have
	}
	for i, holder := range []string{"one", "two", "three"} {
		if err := hold(holder, all[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := hold("four", all[3]); !errors.Is(err, layer.ErrTooLarge) || !slices.Equal(there(), []int{0, 1, 2}) {
		t.Errorf("%v, %v are there: want no room", err, there())
	}
	s.Close()
	s = open(t, dir, 3000)
	s.Keep(func(holder string) bool { return holder != "two" })
	if !slices.Equal(there(), []int{0, 1, 2}) {
		t.Errorf("%v are there, and there is room for three", there())
	}
	if err := hold("four", all[3]); err != nil || !slices.Equal(there(), []int{0, 2, 3}) {
		t.Errorf("%v, %v are there: want the one gone that was released", err, there())
	}
	s.Release("three")
	s.Release("one")
	s.Release("unknown")
	if err := hold("five", all[1]); err != nil || !slices.Equal(there(), []int{0, 1, 3}) {
		t.Errorf("%v, %v are there: want the one gone that was used longest ago", err, there())
	}
}

// Whenever a process ends, the next one finds whole layers, or none.
func TestHalfALayerIsNone(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	l, _ := of(t, "a", 100)
	if _, err := s.Hold(t.Context(), "c", []oci.Layer{l}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	for _, spoil := range []func() error{
		func() error { return os.Remove(filepath.Join(dir, "layers", l.DiffID, "size")) },
		func() error { return os.WriteFile(filepath.Join(dir, "layers", l.DiffID, "size"), nil, 0o600) },
		func() error {
			return os.WriteFile(filepath.Join(dir, "layers", l.DiffID, "size"), []byte(`{"bytes":1,"entries":1,"boot":"another"}`), 0o600)
		},
		func() error { return os.MkdirAll(filepath.Join(dir, "new", "content"), 0o700) },
		func() error { return os.WriteFile(filepath.Join(dir, "holders", "c"), []byte("["), 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, 1<<20)
		dirs, err := s.Hold(t.Context(), "c", []oci.Layer{l})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(dirs[0], "a")); err != nil || len(b) != 100 {
			t.Errorf("%d bytes, %v", len(b), err)
		}
		s.Close()
	}
	if left, err := filepath.Glob(dir + "/new*"); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestWhatFailsHoldsNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	good, _ := of(t, "a", 100)
	bad, _ := of(t, "b", 100)
	bad.DiffID = strings.Repeat("0", 64)
	large, _ := of(t, "large", 2<<20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, try := range map[string]func() error{
		"another digest": func() error { _, err := s.Hold(t.Context(), "c", []oci.Layer{good, bad}); return err },
		"too large":      func() error { _, err := s.Hold(t.Context(), "c", []oci.Layer{good, large}); return err },
		"ended":          func() error { _, err := s.Hold(ctx, "c", []oci.Layer{bad}); return err },
	} {
		if err := try(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if held, err := os.ReadDir(dir + "/holders"); err != nil || len(held) > 0 {
			t.Errorf("%s: %v, %v hold layers", name, held, err)
		}
	}
	if _, err := store.Open(store.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another NodeManager") {
		t.Errorf("a second one opened the store: %v", err)
	}
}
