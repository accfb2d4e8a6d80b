package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"heddle/internal/imagetest"
	"heddle/nm/image/layer"
	"heddle/nm/image/oci"
)

// remote returns a layer that is elsewhere. send gets the rest of it, and the number of the transfer, the first being 1.
func remote(t *testing.T, name string, long int, send func(ctx context.Context, to io.Writer, rest []byte, try int32) error) oci.Layer {
	t.Helper()
	archive := []byte(imagetest.Tar(t, imagetest.File(name, strings.Repeat("x", long))))
	tries := new(atomic.Int32)
	id := imagetest.Digest(archive)
	return oci.Layer{DiffID: id, Digest: id, Size: int64(len(archive)), Fetch: func(ctx context.Context, to io.Writer, from int64) error {
		return send(ctx, to, archive[from:], tries.Add(1))
	}}
}

func whole(_ context.Context, to io.Writer, rest []byte, _ int32) error {
	_, err := io.Copy(to, bytes.NewReader(rest))
	return err
}

var errBroken = errors.New("the line is cut")

func leftovers(t *testing.T, dir string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "fetched"))
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Twenty containers that want one layer fetch it once. One of them is killed while it does so, and another takes over.
func TestALayerIsFetchedOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	ctx, kill := context.WithCancel(t.Context())
	began := make(chan struct{})
	var sent atomic.Int32
	l := remote(t, "a", 1000, func(ctx context.Context, to io.Writer, rest []byte, try int32) error {
		if try == 1 {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		}
		sent.Add(1)
		return whole(ctx, to, rest, try)
	})
	var together sync.WaitGroup
	together.Go(func() {
		if _, err := s.Hold(ctx, "killed", []oci.Layer{l}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	<-began
	for i := range 20 {
		together.Go(func() {
			if _, err := s.Hold(t.Context(), string(rune('a'+i)), []oci.Layer{l, l}); err != nil {
				t.Error(err)
			}
		})
	}
	kill()
	together.Wait()
	if n, _ := s.Size(); n != 1 || sent.Load() != 1 || len(leftovers(t, dir)) > 0 {
		t.Errorf("%d layers, sent %d times; %v are left", n, sent.Load(), leftovers(t, dir))
	}
}

// A transfer that breaks off continues; if it can't, it begins again; if nothing comes, it fails. What isn't what it should be is refused.
func TestBrokenTransfersOfLayers(t *testing.T) {
	for what, c := range map[string]struct {
		send func(ctx context.Context, to io.Writer, rest []byte, try int32) error
		long int
		want string
	}{
		"it breaks twice": {func(ctx context.Context, to io.Writer, rest []byte, try int32) error {
			if try <= 2 {
				return errors.Join(whole(ctx, to, rest[:len(rest)/2], try), errBroken)
			}
			return whole(ctx, to, rest, try)
		}, 1000, ""},
		"it can't continue": {func(ctx context.Context, to io.Writer, rest []byte, try int32) error {
			switch try {
			case 1:
				return errors.Join(whole(ctx, to, rest[:100], try), errBroken)
			case 2:
				return errBroken
			}
			return whole(ctx, to, rest, try)
		}, 1000, ""},
		"nothing comes": {func(context.Context, io.Writer, []byte, int32) error { return errBroken }, 1000, "the line is cut"},
		"it never ends": {func(ctx context.Context, to io.Writer, rest []byte, try int32) error {
			return errors.Join(whole(ctx, to, rest[:1], try), errBroken)
		}, 1000, "the line is cut"},
		"another layer": {func(ctx context.Context, to io.Writer, rest []byte, try int32) error {
			return whole(ctx, to, bytes.ToUpper(rest), try)
		}, 1000, "digest"},
		"it is too long": {whole, 2 << 20, "too large"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir, 8<<20)
			_, err := s.Hold(t.Context(), "a", []oci.Layer{remote(t, "a", c.long, c.send)})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v; want %q", err, c.want)
			}
			if left := leftovers(t, dir); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}

// What many containers fetch at a time fits into the store: the disk isn't filled with files that are on their way.
func TestFetchedFilesAreBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	began, let := make(chan struct{}), make(chan struct{})
	slow := remote(t, "slow", 700<<10, func(ctx context.Context, to io.Writer, rest []byte, try int32) error {
		close(began)
		<-let
		return whole(ctx, to, rest, try)
	})
	ended := make(chan error, 1)
	go func() {
		_, err := s.Hold(t.Context(), "slow", []oci.Layer{slow})
		ended <- err
	}()
	<-began
	if _, err := s.Hold(t.Context(), "other", []oci.Layer{remote(t, "other", 700<<10, whole)}); !errors.Is(err, layer.ErrTooLarge) {
		t.Errorf("beside the slow one: %v", err)
	}
	close(let)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.Release("slow")
	if _, err := s.Hold(t.Context(), "other", []oci.Layer{remote(t, "other", 700<<10, whole)}); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// What was on its way when the process ended goes with the next start.
func TestFetchedFilesDontOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	open(t, dir, 1<<20).Close()
	for _, path := range []string{"fetched/x.part", "gone/1/content/file", "new/content/file"} {
		at := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, 1<<20)
	for _, sub := range []string{"fetched", "gone", "new"} {
		if entries, err := filepath.Glob(filepath.Join(dir, sub, "*")); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v, %v", sub, entries, err)
		}
	}
}
