package localizer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
)

// Containers come, are killed and go while the cache is cleaned all the time: whoever holds a resource can read it, and in
// the end nothing is held, nothing is half there and everything that is there is accounted for.
func TestStress(t *testing.T) {
	var now atomic.Int64
	n := newNode(t, func(c *Config) {
		c.TargetSize = 2000
		c.MaxFiles = fanOut + 3
		c.Now = func() time.Time { return time.UnixMilli(now.Add(1)) }
	})
	var all []Resource
	for i := range 12 {
		all = append(all, n.file(fmt.Sprint("f", i), strings.Repeat("x", 100*(i+1)), Visibility(i%3+1)))
	}
	ctx, stop := context.WithCancel(t.Context())
	var cleaner sync.WaitGroup
	cleaner.Go(func() {
		for ctx.Err() == nil {
			n.Clean()
		}
	})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 7))
			for i := range 150 {
				id := container(int32(w%3+1), int64(w)<<20|int64(i))
				req := Request{Container: id, User: fmt.Sprint("user", w%2), Resources: map[string]Resource{}}
				for range 1 + r.IntN(4) {
					x := all[r.IntN(len(all))]
					req.Resources[x.Location.Name()] = x
				}
				cctx, kill := context.WithCancel(ctx)
				if r.IntN(3) == 0 {
					go kill()
				}
				res, err := n.Localize(cctx, req)
				kill()
				switch {
				case errors.Is(err, context.Canceled):
				case err != nil:
					t.Errorf("container %v: %v", id, err)
				default:
					for link, p := range res.Paths {
						if fi, err := os.Stat(p); err != nil || fi.Size() != req.Resources[link].Size {
							t.Errorf("container %v holds %s: %v", id, p, err)
						}
					}
				}
				n.Release(id)
			}
		})
	}
	wg.Wait()
	stop()
	cleaner.Wait()
	await.Until(t, "the last downloads end", func() bool { return n.Usage().Fetching == 0 })
	n.Close()
	n.Clean()
	u := n.Usage()
	if u.Referenced != 0 || len(n.held) != 0 {
		t.Errorf("still held: %v, %v", u, n.held)
	}
	var onDisk int64
	for _, d := range n.dirs {
		err := filepath.WalkDir(d, func(p string, e os.DirEntry, err error) error {
			if strings.HasSuffix(p, tmpSuffix) {
				t.Errorf("%s is left", p)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		size, err := diskUse(d)
		if err != nil {
			t.Error(err)
		}
		onDisk += size
	}
	if onDisk != u.Bytes {
		t.Errorf("%d bytes on disk, %d accounted for", onDisk, u.Bytes)
	}
	if n.store.Len() != u.Resources {
		t.Errorf("%d records for %d resources", n.store.Len(), u.Resources)
	}
	for s, ca := range n.caches {
		for dir, sub := range ca.spread {
			used := 0
			for _, c := range sub.counts {
				used += c
			}
			have := 0
			for _, e := range ca.entries {
				if e.dir == dir {
					have++
				}
			}
			if used != have {
				t.Errorf("%v on %s: %d slots counted, %d there", s, dir, used, have)
			}
		}
	}
}

func TestRun(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.TargetSize = 1
		c.Interval = time.Millisecond
	})
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { n.Run(ctx) })
	n.get(container(1, 1), "alice", n.file("f", "content", Public))
	n.Release(container(1, 1))
	await.Until(t, "the cache is cleaned", func() bool { return n.Usage().Resources == 0 })
	stop()
	wg.Wait()
}

// A pipe or device is no resource, and nobody waits for it.
func TestSpecialFiles(t *testing.T) {
	n := newNode(t)
	r := n.file("f", "x", Private)
	r.Location.Path = filepath.Join(n.src, "pipe")
	if err := unix.Mkfifo(r.Location.Path, 0o666); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Stat(r.Location.Path)
	if err != nil {
		t.Fatal(err)
	}
	r.Timestamp = fi.ModTime().UnixMilli()
	if err := n.fail(container(1, 1), "alice", r); !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkCachedResources(b *testing.B) {
	n := newNode(b)
	req := Request{Container: container(1, 0), User: "alice", Resources: map[string]Resource{}}
	for i := range 100 {
		name := fmt.Sprintf("lib%03d.jar", i)
		req.Resources[name] = n.file(name, name, Public)
	}
	if _, err := n.Localize(b.Context(), req); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req.Container.ID++
		if _, err := n.Localize(b.Context(), req); err != nil {
			b.Fatal(err)
		}
		n.Release(req.Container)
	}
}

func BenchmarkFetchFile(b *testing.B) {
	n := newNode(b, func(c *Config) { c.TargetSize = 1 })
	const size = 64 << 20
	r := n.file("big", strings.Repeat("0123456789abcdef", size/16), Private)
	b.SetBytes(size)
	for i := int64(0); b.Loop(); i++ {
		n.get(container(1, i), "alice", r)
		n.Release(container(1, i))
		n.Clean()
	}
}

func BenchmarkUnpackZip(b *testing.B) {
	n := newNode(b, func(c *Config) { c.TargetSize = 1 })
	var entries []string
	var size int64
	for i := range 2000 {
		content := strings.Repeat(fmt.Sprintf("class %d ", i), 200)
		size += int64(len(content))
		entries = append(entries, fmt.Sprintf("org/example/p%d/C%d.class", i%50, i), content)
	}
	r := n.file("classes.zip", zipOf(b, entries...), Private)
	r.Type = Archive
	b.SetBytes(size)
	for i := int64(0); b.Loop(); i++ {
		n.get(container(1, i), "alice", r)
		n.Release(container(1, i))
		n.Clean()
	}
}
