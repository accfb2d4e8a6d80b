package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	"heddle/internal/bounded"
	"heddle/nm/image/layer"
	"heddle/nm/image/oci"
)

// Bounds of fetching one image: layers at a time, and how often the transfer of one is begun.
const (
	together = 3
	attempts = 4
)

// fetching knows which layers are being fetched: each by one container, for which others wait.
type fetching struct {
	mu    sync.Mutex // all by digest:
	turns map[string]*turn
	bytes map[string]int64 // of files that are there, or come
	users map[string]int   // containers that may need the file
}

type turn struct {
	free chan struct{}
	by   int // who has it or waits
}

// lock waits until no one else fetches or unpacks the layer.
func (f *fetching) lock(ctx context.Context, digest string) (unlock func(), err error) {
	f.mu.Lock()
	t := f.turns[digest]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		f.turns[digest] = t
	}
	t.by++
	f.mu.Unlock()
	leave := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if t.by--; t.by == 0 {
			delete(f.turns, digest)
		}
	}
	select {
	case t.free <- struct{}{}:
		return func() { <-t.free; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// charge counts the file of a layer before it comes.
func (f *fetching) charge(l oci.Layer, room int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.bytes {
		room -= n
	}
	if l.Size > room {
		return fmt.Errorf("%w: fetching its %d bytes, beside layers that containers hold and others that are being fetched, exceeds heddle.nodemanager.images.store-mb", layer.ErrTooLarge, l.Size)
	}
	f.bytes[l.Digest] = l.Size
	return nil
}

func (f *fetching) release(digest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.bytes, digest)
}

func (s *Store) fetchedFile(digest string) string {
	return filepath.Join(s.cfg.Dir, fetchedDir, digest)
}

// fetch copies the layers that are missing and elsewhere to this machine.
func (s *Store) fetch(ctx context.Context, layers []oci.Layer) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(together)
	size := int64(0)
	for n, l := range layers {
		if _, ok := s.has(l.DiffID); ok || l.Fetch == nil {
			continue
		}
		if size += l.Size; l.Size < 0 || size < 0 || size > s.cfg.Image.Bytes {
			return fmt.Errorf("%w: the image has more than %d bytes as it comes", layer.ErrTooLarge, s.cfg.Image.Bytes)
		}
		all.Go(func() error {
			unlock, err := s.fetching.lock(ctx, l.Digest)
			if err != nil {
				return err
			}
			defer unlock()
			if _, err = s.local(ctx, l); err != nil {
				return fmt.Errorf("layer %d of %d: %w", n+1, len(layers), err)
			}
			return nil
		})
	}
	return all.Wait()
}

// local returns a layer that is opened from a file of this machine, which is fetched if it isn't there. The layer is locked.
func (s *Store) local(ctx context.Context, l oci.Layer) (oci.Layer, error) {
	path := s.fetchedFile(l.Digest)
	l.Open = func() (io.ReadCloser, error) { return bounded.Open(path) }
	if _, ok := s.has(l.DiffID); ok {
		return l, nil // another container has waited for it, too
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return l, err
	}
	room, err := s.room()
	if err != nil {
		return l, err
	}
	if err := s.fetching.charge(l, room); err != nil {
		return l, err
	}
	if err := transfer(ctx, l, path); err != nil {
		s.fetching.release(l.Digest)
		return l, err
	}
	return l, nil
}

// use counts a container that may need files of layers.
func (f *fetching) use(layers []oci.Layer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range layers {
		if l.Fetch != nil {
			f.users[l.Digest]++
		}
	}
}

// forget removes the files that no other container waits for.
func (s *Store) forget(layers []oci.Layer) {
	f := &s.fetching
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range layers {
		if l.Fetch == nil {
			continue
		}
		if f.users[l.Digest]--; f.users[l.Digest] > 0 {
			continue
		}
		delete(f.users, l.Digest)
		if err := os.Remove(s.fetchedFile(l.Digest)); err == nil || errors.Is(err, fs.ErrNotExist) {
			delete(f.bytes, l.Digest)
		}
	}
}

// part is a file that grows, and the digest of what it has.
type part struct {
	file *os.File
	sum  hash.Hash
	n    int64
}

func (p *part) Write(b []byte) (int, error) {
	n, err := p.file.Write(b)
	p.sum.Write(b[:n])
	p.n += int64(n)
	return n, err
}

func (p *part) reset() error {
	p.n = 0
	p.sum.Reset()
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

// transfer fetches a layer into a file, which gets its name when it is whole. A transfer that breaks off continues where it was, or, where
// that can't be, begins again.
func transfer(ctx context.Context, l oci.Layer, path string) (err error) {
	f, err := os.OpenFile(path+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		f.Close()
		if err != nil {
			_ = os.Remove(path + ".part")
		}
	}()
	p := &part{file: f, sum: sha256.New()}
	for try := 1; ; try++ {
		before := p.n
		if err = l.Fetch(ctx, p, p.n); err == nil {
			break
		}
		if ctx.Err() != nil || try == attempts || p.n == 0 {
			return err
		}
		if p.n == before {
			if err := p.reset(); err != nil {
				return err
			}
		}
	}
	if got := hex.EncodeToString(p.sum.Sum(nil)); got != l.Digest && !l.Squashfs {
		return fmt.Errorf("what came has the digest sha256:%s, not sha256:%s", got, l.Digest)
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
}
