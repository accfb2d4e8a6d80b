package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/yarn/records"
)

func newLocal(t testing.TB) (Local, *lab) {
	l := newLab(t)
	return Local{Dirs: l.dirs}, l
}

func TestListAndOpen(t *testing.T) {
	local, l := newLocal(t)
	l.log(0, c1(1), "stdout", "out-line\n")
	l.log(1, c1(1), "syslog", "s")
	l.log(1, c1(1), "stdout", "the first directory counts")
	l.log(0, c1(1), "sub/file", "x")
	l.log(0, c1(2), "stdout", "another container's")
	if err := os.Symlink("/etc/passwd", filepath.Join(l.dirs[0], app1.String(), c1(1).String(), "link")); err != nil {
		t.Fatal(err)
	}
	entries, err := local.List(c1(1))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%s:%d", e.Name, e.Size))
	}
	equal(t, "entries", got, []string{"stdout:9", "syslog:1"})
	if entries, err := local.List(c1(9)); len(entries) != 0 || err != nil {
		t.Errorf("no logs: %v, %v", entries, err)
	}
	log, err := local.Open(c1(1), "alice", "stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for _, c := range []struct {
		size    int64
		running bool
		want    string
	}{
		{math.MaxInt64, true, "out-line\n"}, {3, true, "out"}, {-3, true, "ne\n"}, {0, true, ""}, {99999999, true, "out-line\n"}, {-99999999, false, "out-line\n"}, {math.MinInt64, false, "out-line\n"},
	} {
		var b bytes.Buffer
		if err := log.WriteText(&b, testNode, c.size, c.running); err != nil {
			t.Fatal(err)
		}
		title := "Container: " + c1(1).String() + " on host.example.com:8041"
		tail := "."
		if c.running {
			tail = ".This log file belongs to a running container (" + c1(1).String() + ") and so may not be complete."
		}
		want := title + "\nLogAggregationType: LOCAL\n" + strings.Repeat("=", len(title)) + "\nLogType:stdout\nLogLastModifiedTime:" + FormatTime(log.ModTime) +
			"\nLogLength:9\nLogContents:\n" + c.want + "End of LogType:stdout" + tail + "\n" + strings.Repeat("*", 71) + "\n\n"
		if b.String() != want {
			t.Errorf("size %d:\n%s, want\n%s", c.size, b.String(), want)
		}
	}
	for _, name := range []string{"nothing", "link", "sub", "sub/file", "../" + c1(2).String() + "/stdout", "..", ".", "", "a\x00b", "/etc/passwd"} {
		if _, err := local.Open(c1(1), "alice", name); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := ErrNotFound.Error(); got != "Cannot find this log on the local disk." {
		t.Errorf("text %q", got)
	}
}

func TestOwnedLogs(t *testing.T) {
	local, l := newLocal(t)
	l.log(0, c1(1), "stdout", "x")
	local.UID = func(user string) (int, error) {
		if user == "ghost" {
			return 0, errors.New("unknown user ghost")
		}
		return os.Getuid() + 1, nil
	}
	if _, err := local.Open(c1(1), "alice", "stdout"); err == nil || !strings.Contains(err.Error(), "Application submitted by 'alice' doesn't own requested log file : stdout") {
		t.Errorf("somebody else's file: %v", err)
	}
	if _, err := local.Open(c1(1), "ghost", "stdout"); err == nil || !strings.Contains(err.Error(), "unknown user ghost") {
		t.Errorf("an unknown user: %v", err)
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct{ length, start, end, offset, count int64 }{
		{100, -10, 100, 90, 10},
		{100, DefaultStart, 100, 0, 100},
		{100, 0, -1, 0, 99},
		{100, 5, 10, 5, 5},
		{100, 5, -200, 5, 95},
		{100, 200, 300, 100, 0},
		{0, -4096, 0, 0, 0},
	} {
		offset, count, err := Window(c.length, c.start, c.end)
		if offset != c.offset || count != c.count || err != nil {
			t.Errorf("%+v: %d, %d, %v", c, offset, count, err)
		}
	}
	if _, _, err := Window(100, 50, 10); err == nil || err.Error() != "Invalid start and end values. Start: [50], end[10]" {
		t.Errorf("start after end: %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Int64Min(0).Draw(t, "length")
		start, end, size := rapid.Int64().Draw(t, "start"), rapid.Int64().Draw(t, "end"), rapid.Int64().Draw(t, "size")
		inside := func(offset, count int64) {
			if offset < 0 || count < 0 || offset > length || count > length-offset {
				t.Errorf("%d bytes at %d of %d", count, offset, length)
			}
		}
		inside(Size(length, size))
		if offset, count, err := Window(length, start, end); err == nil {
			inside(offset, count)
		}
	})
}

func TestFollow(t *testing.T) {
	local, l := newLocal(t)
	path := l.log(0, c1(1), "stdout", "old new")
	var out output.Buffer
	var ended atomic.Bool
	done := make(chan error, 1)
	go func() {
		done <- local.Follow(t.Context(), &out, c1(1), "alice", "stdout", 4, time.Millisecond, ended.Load)
	}()
	wait := func(want string) {
		t.Helper()
		await.Until(t, fmt.Sprintf("%q arrives", want), func() bool { return out.String() == want })
	}
	appendTo := func(s string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	wait("new")
	appendTo(" more")
	wait("new more")
	// It rolls.
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	appendTo("|rolled")
	wait("new more|rolled")
	// It is emptied.
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	appendTo("|cut")
	wait("new more|rolled|cut")
	appendTo("|last")
	ended.Store(true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := out.String(); got != "new more|rolled|cut|last" {
		t.Errorf("in the end: %q", got)
	}

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- local.Follow(ctx, &out, c1(1), "alice", "stdout", 0, time.Millisecond, func() bool { return false })
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := local.Follow(t.Context(), &out, c1(1), "alice", "no", 0, time.Millisecond, nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such log: %v", err)
	}
}

func TestKeeper(t *testing.T) {
	_, l := newLocal(t)
	var mu sync.Mutex
	clock := time.Now()
	now := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return clock
	}
	app2 := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	gone := l.log(0, c1(1), "stdout", "x")
	stays := l.log(1, records.ContainerID{Attempt: records.AttemptID{App: app2, Attempt: 1}, ID: 1}, "stdout", "x")
	orphan := filepath.Join(l.dirs[0], "application_1_0003")
	foreign := filepath.Join(l.dirs[0], "lost+found")
	for _, d := range []string{orphan, foreign} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	k := NewKeeper(l.dirs, time.Hour, l.store, now, nil)
	if err := k.Keep(app1); err != nil {
		t.Fatal(err)
	}
	if next := k.removeDue(); !next.Equal(clock.Add(time.Hour)) {
		t.Errorf("next at %v", next)
	}
	clock = clock.Add(30 * time.Minute)
	k = NewKeeper(l.dirs, time.Hour, l.store, now, nil) // a restart
	if err := k.Recover(); err != nil {
		t.Fatal(err)
	}
	if err := k.Adopt(func(app records.ApplicationID) bool { return app == app2 }); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(k.Kept()); got != "[application_1_0003 application_1700000000000_10012]" {
		t.Errorf("kept: %s", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { k.Run(ctx) })
	mu.Lock()
	clock = clock.Add(31 * time.Minute)
	mu.Unlock()
	if err := k.Keep(records.ApplicationID{ClusterTimestamp: 1, ID: 4}); err != nil { // wakes it
		t.Fatal(err)
	}
	await.Until(t, "what is due is removed", func() bool { return len(k.Kept()) == 2 })
	stop()
	wg.Wait()
	for p, want := range map[string]bool{filepath.Dir(filepath.Dir(gone)): false, stays: true, orphan: true, foreign: true} {
		if _, err := os.Stat(p); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", p, err, want)
		}
	}
}

func TestDeleteAggregated(t *testing.T) {
	l := newLab(t)
	fs := l.remote.As("")
	old, young := time.UnixMilli(1_000_000), time.UnixMilli(9_000_000)
	file := func(name string, at time.Time) string {
		t.Helper()
		p := filepath.Join(l.remote.root, "logs", name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, at, at); err != nil {
			t.Fatal(err)
		}
		return p
	}
	want := map[string]bool{
		file("alice/bucket-logs-tfile/0001/application_5_0001/n1", old):     false,
		file("alice/bucket-logs-tfile/0002/application_5_0002/n1", old):     true, // n2 is young
		file("alice/bucket-logs-tfile/0002/application_5_0002/n2", young):   true,
		file("bob/bucket-logs-tfile/0003/application_5_0003/n1_1", old):     false, // it runs
		file("bob/bucket-logs-tfile/0003/application_5_0003/n1_2", young):   true,
		file("bob/bucket-logs-tfile/0004/application_5_0004/n1", old):       true, // nobody knows
		file("bob/bucket-logs-tfile/0005/notes/n1", old):                    true,
		file("bob/private/0001/application_5_0001/n1", old):                 true,
		file("bob/bucket-logs-ifile/0006/application_5_0006/n1", old):       false,
		file("bob/bucket-logs-tfile/0007/application_5_0007/recently", old): true, // the directory is young
	}
	for p := range want {
		d := filepath.Dir(p)
		at := old
		if strings.HasSuffix(p, "recently") {
			at = young
		}
		if err := os.Chtimes(d, at, at); err != nil {
			t.Fatal(err)
		}
	}
	removed, err := DeleteAggregated(t.Context(), fs, "/logs/", time.UnixMilli(5_000_000), func(_ context.Context, app records.ApplicationID) (bool, error) {
		if app.ID == 4 {
			return false, errors.New("the ResourceManager is away")
		}
		return app.ID != 3, nil
	})
	if err == nil || !strings.Contains(err.Error(), "application_5_0004: the ResourceManager is away") {
		t.Errorf("error %v", err)
	}
	if removed != 3 {
		t.Errorf("%d removed", removed)
	}
	for p, there := range want {
		if _, err := os.Stat(p); (err == nil) != there {
			t.Errorf("%s: %v, want it there: %v", p, err, there)
		}
	}
	l.remote.failWith(func(op, _ string) error {
		if op == "list" {
			return syscall.ECONNREFUSED
		}
		return nil
	})
	if _, err := DeleteAggregated(t.Context(), fs, "/logs", time.UnixMilli(0), nil); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the file system is away: %v", err)
	}
}

func BenchmarkWriteText(b *testing.B) {
	local, l := newLocal(b)
	const size = 16 << 20
	l.log(0, c1(1), "stdout", strings.Repeat("a line of a log\n", size/16))
	b.SetBytes(size)
	for b.Loop() {
		log, err := local.Open(c1(1), "alice", "stdout")
		if err != nil {
			b.Fatal(err)
		}
		if err := log.WriteText(io.Discard, testNode, math.MaxInt64, true); err != nil {
			b.Fatal(err)
		}
		log.Close()
	}
}
