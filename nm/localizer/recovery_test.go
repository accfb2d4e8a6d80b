package localizer

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/internal/hungdisk"
	"heddle/nm/nmtest"
)

// restart closes the Localizer and starts another on the same directories and store.
func (n *node) restart() {
	n.t.Helper()
	n.Close()
	n.start()
	if err := n.Recover(); err != nil {
		n.t.Fatal(err)
	}
}

func TestRecovery(t *testing.T) {
	n := newNode(t)
	if _, err := n.InitApplication("alice", app(1)); err != nil {
		t.Fatal(err)
	}
	all := map[string]Resource{
		"a": n.file("a", "public", Public), "b": n.file("b", "private", Private), "c": n.file("c", "application", Application),
	}
	before, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: all})
	if err != nil {
		t.Fatal(err)
	}
	n.restart()
	again := map[string]Resource{"new": n.file("new", "new", Public)}
	for k, r := range all {
		again[k] = r
	}
	kept := n.Retain(Request{Container: container(1, 1), User: "alice", Resources: again})
	if len(kept) != 3 {
		t.Errorf("kept %v", kept)
	}
	if u := n.Usage(); u.Resources != 3 || u.Referenced != 3 || u.Bytes != before.Counters.BytesFetched {
		t.Errorf("usage: %v", u)
	}
	after, err := n.Localize(t.Context(), Request{Container: container(1, 2), User: "alice", Resources: again})
	if err != nil {
		t.Fatal(err)
	}
	for k, p := range before.Paths {
		if after.Paths[k] != p || kept[k] != p {
			t.Errorf("%s: %s before, %s retained, %s after", k, p, kept[k], after.Paths[k])
		}
	}
	if c := after.Counters; c.FilesCached != 3 || c.FilesFetched != 1 {
		t.Errorf("counters: %v", c)
	}
	if base := filepath.Base(filepath.Dir(after.Paths["new"])); base != "11" {
		t.Errorf("the new resource went to slot %s", base)
	}
	if err := n.EndApplication("alice", app(1)); err != nil {
		t.Fatal(err)
	}
	n.restart()
	if u := n.Usage(); u.Resources != 3 {
		t.Errorf("after the application's end: %v", u)
	}
}

// What a NodeManager killed in the middle of its work leaves is removed, and numbers are not used again.
func TestRecoveryCleansUp(t *testing.T) {
	n := newNode(t)
	whole, short, grown := n.file("whole", "content", Public), n.file("short", "content", Public), n.file("grown", "content", Public)
	paths := map[string]string{}
	for name, r := range map[string]Resource{"whole": whole, "short": short, "grown": grown} {
		paths[name] = n.get(container(1, 1), "alice", r)
	}
	// A download under way: recorded, partly on disk.
	n.source.gate = make(chan struct{})
	n.source.waits = make(chan string)
	slow := n.file("slow", "content", Private)
	go n.Localize(t.Context(), Request{Container: container(1, 2), User: "alice", Resources: map[string]Resource{"s": slow}})
	<-n.source.waits
	crashed := &nmtest.Store{}
	for k, v := range n.store.All() {
		crashed.Put(k, v)
	}
	halves := func() (found []string) {
		for _, s := range slots(t, n.dirs, "usercache/alice/filecache") {
			if strings.HasSuffix(s, tmpSuffix) {
				found = append(found, s)
			}
		}
		return found
	}
	if len(halves()) != 1 {
		t.Fatalf("want a download under way, have %v", halves())
	}
	// The process dies here: what follows is the disk as it is now, and the store as it was.
	stopped := n.Localizer
	n.store, n.config.Store = crashed, crashed
	half := filepath.Join(n.dirs[0], "usercache/alice/filecache", halves()[0])
	if _, err := os.Stat(half); err != nil {
		half = filepath.Join(n.dirs[1], "usercache/alice/filecache", halves()[0])
	}
	stopped.Close()
	if err := os.MkdirAll(half, 0o700); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Chmod(paths["short"], 0o700))
	must(os.Truncate(paths["short"], 3))
	must(os.WriteFile(filepath.Join(filepath.Dir(paths["grown"]), "more"), []byte("more"), 0o600))
	unknown := filepath.Join(n.dirs[1], "filecache/4711")
	must(os.MkdirAll(filepath.Join(unknown, "x"), 0o755))
	foreign := filepath.Join(n.dirs[1], "filecache/notes")
	must(os.MkdirAll(foreign, 0o755))
	must(crashed.Put(storePrefix+"garbage", []byte("{")))
	must(crashed.Put(storePrefix+"elsewhere", []byte(`{"visibility":1,"dir":"/etc","number":12,"location":{"Path":"/passwd"},"type":2,"done":true}`)))
	must(crashed.Put(storePrefix+"/etc/filecache/12", []byte(`{"visibility":1,"dir":"/etc","number":12,"location":{"Path":"/passwd"},"type":2,"done":true}`)))
	must(crashed.Put(storePrefix+"evil", []byte(`{"visibility":2,"user":"../..","dir":"/etc","number":12,"location":{"Path":"/passwd"},"type":2,"done":true}`)))

	n.source.gate, n.source.waits = nil, nil
	n.start()
	must(n.Recover())
	for name, want := range map[string]bool{paths["whole"]: true, paths["short"]: false, paths["grown"]: true, half: false, unknown: false, foreign: true} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	if u := n.Usage(); u.Resources != 2 {
		t.Errorf("usage: %v", u)
	}
	if n.store.Len() != 2 {
		t.Errorf("the store holds %d records, want 2", n.store.Len())
	}
	p := n.get(container(2, 1), "alice", short)
	if s := filepath.Base(filepath.Dir(p)); s != "4712" {
		t.Errorf("the next slot is %s", s)
	}
}

// Sub-directories are counted on where they were.
func TestRecoveryOfSubdirectories(t *testing.T) {
	n := newNode(t, func(c *Config) {
		c.MaxFiles = fanOut + 2
		c.Dirs = nmtest.Dirs(c.Dirs.Writable()[:1])
	})
	var rs []Resource
	var paths []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		rs = append(rs, n.file(name, name, Public))
		paths = append(paths, n.get(container(1, 1), "alice", rs[len(rs)-1]))
	}
	d := n.dirs[0]
	want := []string{d + "/filecache/10/a", d + "/filecache/11/b", d + "/filecache/0/12/c", d + "/filecache/0/13/d", d + "/filecache/1/14/e"}
	if !slices.Equal(paths, want) {
		t.Errorf("got %v", paths)
	}
	n.restart()
	if got, want := n.get(container(1, 2), "alice", n.file("f", "f", Public)), d+"/filecache/1/15/f"; got != want {
		t.Errorf("after the restart: %s, want %s", got, want)
	}
	for i, r := range rs {
		if got := n.get(container(1, 2), "alice", r); got != paths[i] {
			t.Errorf("%s was at %s", got, paths[i])
		}
	}
	// Room in a directory that was full is used again.
	n.Release(container(1, 2))
	n.clock = n.clock.Add(1)
	n.config.TargetSize = 5
	n.restart()
	n.Clean()
	if got := n.get(container(1, 3), "alice", n.file("g", "g", Public)); !strings.Contains(got, "/16/g") {
		t.Errorf("slot %s", got)
	}
}

func TestWipe(t *testing.T) {
	n := newNode(t)
	p := n.get(container(1, 1), "alice", n.file("a", "public", Public))
	private := filepath.Join(n.dirs[0], NMPrivate, "x")
	left := filepath.Join(n.dirs[0], "usercache_DEL_123", "x")
	foreign := filepath.Join(n.dirs[0], "other")
	for _, d := range []string{private, left, foreign} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.Close()
	n.start()
	remove, err := n.Wipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	n.get(container(1, 1), "alice", n.file("a", "public", Public))
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range n.dirs {
		entries, _ := os.ReadDir(d)
		for _, e := range entries {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if want := []string{"filecache", "other"}; !slices.Equal(names, want) {
		t.Errorf("the local directories hold %v, want %v", names, want)
	}
	if n.store.Len() != 1 {
		t.Errorf("the store holds %d records", n.store.Len())
	}
}

// both are a directory on a good disk and one on a disk that doesn't answer, which nobody has noticed yet.
type both struct {
	Dirs
	hung string
}

func (b both) Writable() []string { return append(b.Dirs.Writable(), b.hung) }
func (b both) Readable() []string { return append(b.Dirs.Readable(), b.hung) }

// Recovery waits for a disk for a while only, and nothing is put on it before it has been looked through.
func TestRecoveryWithADiskThatHangs(t *testing.T) {
	defer func(d time.Duration) { recoveryPatience = d }(recoveryPatience)
	recoveryPatience = 200 * time.Millisecond
	n := newNode(t)
	r := n.file("a", "public", Public)
	if _, err := n.Localize(t.Context(), Request{Container: container(1, 1), User: "alice", Resources: map[string]Resource{"a": r}}); err != nil {
		t.Fatal(err)
	}
	n.Close()
	n.start()
	hung := t.TempDir() + "/hung"
	release := hungdisk.Mount(t, hung)
	n.cfg.Dirs = both{n.cfg.Dirs, hung}
	if err := n.Recover(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "what the good disk has", func() bool {
		return n.Usage().Resources == 1 && !slices.Contains(n.usable([]string{hung}), hung) && len(n.usable(n.cfg.Dirs.Writable())) > 0
	})
	got, err := n.Localize(t.Context(), Request{Container: container(1, 2), User: "alice", Resources: map[string]Resource{"a": r, "b": n.file("b", "new", Public)}})
	if err != nil || got.Counters.FilesCached != 1 || strings.HasPrefix(got.Paths["b"], hung) {
		t.Errorf("%+v, %v", got, err)
	}
	if dirs, err := n.InitApplication("alice", app(1)); err != nil || len(dirs) == 0 {
		t.Errorf("directories %q, %v", dirs, err)
	}
	release()
	await.Until(t, "the end of the recovery", func() bool { return len(n.usable([]string{hung})) == 1 })
}

// A damaged record is an error, and no record counts whose key isn't the place that it tells of. What counts stays in the caches.
func FuzzRecord(f *testing.F) {
	n := newNode(f)
	base := n.cfg.Dirs.Readable()[0]
	for _, s := range []saved{
		{Visibility: Public, Dir: base, Number: 10, Location: Location{Scheme: "hdfs", Host: "nn", Port: 8020, Path: "/a"}, Done: true, Bytes: 7},
		{Visibility: Private, User: "alice", Dir: base, Sub: "0/1", Number: 11, Location: Location{Scheme: "file", Path: "/a"}, Done: true},
		{Visibility: Application, User: "alice", App: app(1).String(), Dir: base, Number: 12, Location: Location{Scheme: "file", Path: "/a"}},
		{Visibility: Private, User: "../bob", Dir: base, Number: 12},
	} {
		value, err := json.Marshal(s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, value []byte) {
		n.mu.Lock()
		defer n.mu.Unlock()
		r := &recorded{}
		err := n.parse(r, value)
		if err == nil {
			t.Fatalf("%q counts without a key", value)
		}
		if r.cache == nil {
			return
		}
		r = &recorded{key: r.storeKey()}
		if err := n.parse(r, value); err == nil && (r.number <= firstSlot || !strings.HasPrefix(filepath.Clean(r.path), filepath.Clean(r.dir))) {
			t.Errorf("%q is at %s", value, r.path)
		}
	})
}

// The numbers of slots follow the largest that is there after a start. A user's directory with the largest of all numbers made them negative, and
// nothing was localized for the user any more.
func TestAUsersDirectoryHasNoNumberThatIsFollowed(t *testing.T) {
	n := newNode(t)
	if _, err := n.InitApplication("alice", app(1)); err != nil {
		t.Fatal(err)
	}
	localize := func(c int64, name string) string {
		t.Helper()
		r, err := n.Localize(t.Context(), Request{Container: container(1, c), User: "alice", Resources: map[string]Resource{"x": n.file(name, name, Private)}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Paths["x"]
	}
	cache := filepath.Dir(filepath.Dir(localize(1, "first")))
	for _, name := range []string{"9223372036854775807", "9007199254740993", "77"} {
		if err := os.Mkdir(filepath.Join(cache, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.restart()
	await.Until(t, "the leftover that may be one is removed", func() bool {
		_, err := os.Lstat(filepath.Join(cache, "77"))
		return errors.Is(err, fs.ErrNotExist)
	})
	slot := filepath.Base(filepath.Dir(localize(2, "second")))
	if number, ok := slotNumber(slot); !ok || number > 1000 {
		t.Errorf("the next slot is %s", slot)
	}
	if slot == "77" {
		t.Error("the leftover's number was used again")
	}
}
