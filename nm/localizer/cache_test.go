package localizer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/await"
)

func TestCaching(t *testing.T) {
	n := newNode(t)
	pub, priv := n.file("pub", "public", Public), n.file("priv", "private", Private)
	appl := n.file("appl", "application", Application)
	all := map[string]Resource{"a": pub, "b": priv, "c": appl}
	first, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := first.Counters.String(), "24,0,3,0,0"; got != want {
		t.Errorf("counters of the first container: %s, want %s", got, want)
	}
	second, err := n.Localize(t.Context(), Request{Container: container(1, 2), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := second.Counters.String(), "0,24,0,3,0"; got != want {
		t.Errorf("counters of the second container: %s, want %s", got, want)
	}
	if !maps.Equal(first.Paths, second.Paths) {
		t.Errorf("paths differ: %v, %v", first.Paths, second.Paths)
	}
	other, err := n.Localize(t.Context(), Request{Container: container(2, 1), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if other.Paths["a"] != first.Paths["a"] || other.Paths["b"] != first.Paths["b"] || other.Paths["c"] == first.Paths["c"] {
		t.Errorf("another application of the user got %v after %v", other.Paths, first.Paths)
	}
	bob, err := n.Localize(t.Context(), Request{Container: container(3, 1), User: "bob", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	if bob.Paths["a"] != first.Paths["a"] || bob.Paths["b"] == first.Paths["b"] {
		t.Errorf("another user got %v after %v", bob.Paths, first.Paths)
	}
	for p, want := range map[string]string{pub.Location.Path: "", priv.Location.Path: "alice"} {
		if got := n.source.users[p][0]; got != want {
			t.Errorf("%s was read as %q, want %q", p, got, want)
		}
	}
}

func TestOneDownloadForMany(t *testing.T) {
	n := newNode(t)
	n.source.gate = make(chan struct{})
	r := n.file("jar", strings.Repeat("x", 1000), Public)
	var wg sync.WaitGroup
	const many = 50
	for i := range int64(many) {
		wg.Go(func() { n.get(container(1, i), fmt.Sprint("user", i%3), r) })
	}
	await.Until(t, "all containers wait", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.held) == many
	})
	close(n.source.gate)
	wg.Wait()
	if got := n.source.count(r.Location.Path); got != 1 {
		t.Errorf("downloaded %d times", got)
	}
	if u := n.Usage(); u.Resources != 1 || u.Referenced != 1 {
		t.Errorf("usage: %v", u)
	}
}

func TestDownloadsAreBounded(t *testing.T) {
	n := newNode(t, func(c *Config) { c.Threads = 3 })
	n.source.gate = make(chan struct{})
	resources := map[string]Resource{}
	for i := range 20 {
		name := fmt.Sprint("f", i)
		resources[name] = n.file(name, name, Private)
	}
	done := make(chan error, 1)
	go func() {
		_, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: resources})
		done <- err
	}()
	await.Until(t, "three downloads run", func() bool {
		n.source.mu.Lock()
		defer n.source.mu.Unlock()
		return n.source.active == 3
	})
	close(n.source.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n.source.most != 3 {
		t.Errorf("%d downloads ran at a time, want 3", n.source.most)
	}
}

// A killed container's download stops unless somebody else waits for it.
func TestCancel(t *testing.T) {
	n := newNode(t)
	n.source.gate = make(chan struct{})
	shared, own := n.file("shared", "s", Public), n.file("own", "o", Private)
	ctx, kill := context.WithCancel(t.Context())
	killed, other := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := n.Localize(ctx, Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"s": shared, "o": own}})
		killed <- err
	}()
	go func() {
		_, err := n.Localize(t.Context(), Request{Container: container(2, 1), User: "bob", Resources: map[string]Resource{"s": shared}})
		other <- err
	}()
	await.Until(t, "both downloads run for both containers", func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.source.mu.Lock()
		defer n.source.mu.Unlock()
		return len(n.held) == 2 && n.source.active == 2
	})
	kill()
	if err := <-killed; !errors.Is(err, context.Canceled) {
		t.Errorf("the killed container got %v", err)
	}
	await.Until(t, "its own download stops", func() bool {
		n.source.mu.Lock()
		defer n.source.mu.Unlock()
		return n.source.active == 1
	})
	close(n.source.gate)
	if err := <-other; err != nil {
		t.Errorf("the other container got %v", err)
	}
	await.Until(t, "nothing of the cancelled download is left", func() bool {
		left := slots(t, n.dirs, "usercache/alice/filecache")
		return len(left) == 0 && n.store.Len() == 1
	})
	if got := n.source.count(shared.Location.Path); got != 1 {
		t.Errorf("the shared resource was downloaded %d times", got)
	}
	// And it can be had again.
	n.source.gate = nil
	n.get(container(1, 2), "alice", own)
}

// slots lists the entries of a cache in all local directories.
func slots(t testing.TB, dirs []string, cache string) []string {
	t.Helper()
	var found []string
	for _, d := range dirs {
		entries, err := os.ReadDir(filepath.Join(d, cache))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range entries {
			found = append(found, e.Name())
		}
	}
	return found
}

func TestMissingFileIsFetchedAgain(t *testing.T) {
	n := newNode(t)
	r := n.file("f", "content", Public)
	p := n.get(container(1, 1), "alice", r)
	if err := os.RemoveAll(filepath.Dir(p)); err != nil {
		t.Fatal(err)
	}
	again := n.get(container(1, 2), "alice", r)
	if again == p {
		t.Errorf("slot %s was used twice", p)
	}
	if _, err := os.Stat(again); err != nil {
		t.Error(err)
	}
	n.Release(container(1, 1))
	n.Release(container(1, 2))
	if u := n.Usage(); u.Resources != 1 || u.Referenced != 0 {
		t.Errorf("usage %v", u)
	}
}

func TestEviction(t *testing.T) {
	n := newNode(t, func(c *Config) { c.TargetSize = 250 })
	var paths []string
	var rs []Resource
	for i := range 5 {
		r := n.file(fmt.Sprint("f", i), strings.Repeat("x", 100), []Visibility{Public, Private}[i%2])
		n.clock = n.clock.Add(time.Second)
		paths = append(paths, n.get(container(1, int64(i)), "alice", r))
		rs = append(rs, r)
	}
	if freed := n.Clean(); freed != 0 {
		t.Errorf("resources in use were removed: %d bytes", freed)
	}
	for _, i := range []int64{3, 1, 0, 2} { // 4 stays in use; 3 is the least recently used
		n.clock = n.clock.Add(time.Second)
		n.Release(container(1, i))
	}
	n.clock = n.clock.Add(time.Second)
	n.get(container(2, 1), "alice", rs[3]) // and now it isn't any more
	n.Release(container(2, 1))
	if freed := n.Clean(); freed != 300 {
		t.Errorf("removed %d bytes, want 300", freed)
	}
	for i, p := range paths {
		_, err := os.Stat(p)
		if gone, want := err != nil, i <= 2; gone != want {
			t.Errorf("resource %d: gone %v, want %v", i, gone, want)
		}
	}
	if _, err := os.Stat(filepath.Dir(paths[0])); err == nil {
		t.Error("the slot of a removed resource is still there")
	}
	if got := n.store.Len(); got != 2 {
		t.Errorf("%d records in the store, want 2", got)
	}
	if freed := n.Clean(); freed != 0 {
		t.Errorf("the second cleaning removed %d bytes", freed)
	}
}
