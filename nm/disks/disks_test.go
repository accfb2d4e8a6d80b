package disks

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/await"
	"heddle/internal/hungdisk"
)

func quiet() *logrus.Entry {
	l := logrus.New()
	l.Out = io.Discard
	return logrus.NewEntry(l)
}

// fullness is a fake of the file systems' fill, in percent by path.
type fullness map[string]float64

func (f fullness) space(path string) (Space, error) {
	const total = 1 << 40
	return Space{Total: total, Free: int64(total * (1 - f[path]/100))}, nil
}

func TestReportIsHadoops(t *testing.T) {
	dir := t.TempDir()
	// a file stands where a folder is to be made
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := fullness{dir + "/local": 50, dir + "/log": 50}
	d, err := New(Config{
		Local: []string{dir + "/local"}, Logs: []string{dir + "/log", dir + "/file/log"}, Check: true, MinHealthy: 0.25, MaxUsedPercent: 1,
	}, quiet(), full.space)
	if err != nil {
		t.Fatal(err)
	}
	ok, report := d.Healthy()
	want := "1/1 local-dirs usable space is below configured utilization percentage/no more usable space [ " + dir +
		"/local : used space above threshold of 1.0% ] ; 1/2 log-dirs have errors:  [ " + dir + "/file/log : Cannot create directory: " + dir +
		"/file/log: not a directory ] 1/2 log-dirs usable space is below configured utilization percentage/no more usable space [ " +
		dir + "/log : used space above threshold of 1.0% ] "
	if ok || report != want {
		t.Errorf("healthy %v, report\n%s\nwant\n%s", ok, report, want)
	}
	if _, err := d.Local.Pick(); err == nil || !strings.Contains(err.Error(), dir+"/local") {
		t.Errorf("picked from full disks: %v", err)
	}
	if got := d.Logs.Readable(); !slices.Equal(got, []string{dir + "/log"}) {
		t.Errorf("readable logs %q", got)
	}
}

func TestDisksFillAndRecover(t *testing.T) {
	dir := t.TempDir()
	a, b := dir+"/a", dir+"/b"
	full := fullness{a: 10, b: 95}
	d, err := New(Config{
		Local: []string{a, b}, Logs: []string{a}, Check: true, MinHealthy: 0.5, MaxUsedPercent: 90, LowUsedPercent: 80,
	}, quiet(), full.space)
	if err != nil {
		t.Fatal(err)
	}
	check := func(wantChanged, wantOK bool, want ...string) {
		t.Helper()
		if changed := d.Check(); changed != wantChanged {
			t.Errorf("changed: %v", changed)
		}
		if ok, report := d.Healthy(); ok != wantOK || !slices.Equal(d.Local.Writable(), want) {
			t.Errorf("healthy %v (%s), good %q", ok, report, d.Local.Writable())
		}
	}
	check(false, true, a)
	full[a] = 91
	check(true, false)
	full[a], full[b] = 85, 79
	check(true, false, b) // a is above the low mark; and the only log folder is on it
	full[a] = 75
	check(true, true, a, b)
	var picks []string
	for range 4 {
		p, err := d.Local.Pick()
		if err != nil {
			t.Fatal(err)
		}
		picks = append(picks, p)
	}
	if !slices.Equal(picks, []string{a, b, a, b}) && !slices.Equal(picks, []string{b, a, b, a}) {
		t.Errorf("picks %q are not taken in turn", picks)
	}
	// a disk that is gone is made again, one that can't be is bad
	if err := os.RemoveAll(b); err != nil {
		t.Fatal(err)
	}
	check(false, true, a, b)
	if err := os.RemoveAll(b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check(true, true, a)
}

func TestUnusableFoldersRefuseToStart(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{
		{Local: []string{dir + "/file/x"}, Logs: []string{dir + "/log"}},
		{Local: []string{dir + "/local"}, Logs: []string{dir + "/file/x"}},
		{Logs: []string{dir + "/log"}},
	} {
		if _, err := New(cfg, quiet(), nil); err == nil || !strings.Contains(err.Error(), "yarn.nodemanager.") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestMinimumOfFreeSpace(t *testing.T) {
	dir := t.TempDir()
	d, err := New(Config{Local: []string{dir}, Logs: []string{dir}, Check: true, MinFreeMB: 100}, quiet(),
		func(string) (Space, error) { return Space{Total: 1 << 40, Free: 99 << 20}, nil })
	if err != nil {
		t.Fatal(err)
	}
	if ok, report := d.Healthy(); ok || !strings.Contains(report, "free space below limit of 100MB") {
		t.Errorf("healthy %v, %q", ok, report)
	}
}

// A disk that doesn't answer is bad: it is reported, others are used, and nobody waits for it for long.
func TestADiskThatHangs(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d, err := New(Config{Local: []string{dir + "/a", dir + "/b"}, Logs: []string{dir + "/log"}, Check: true, MinHealthy: 0.25}, quiet(), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := make(chan struct{})
		var looks atomic.Int32
		d.look = func(path string) seen {
			if path == dir+"/a" {
				looks.Add(1)
				<-answer
			}
			return seen{}
		}
		check := func(wantChange bool, wantTook time.Duration, want ...string) {
			t.Helper()
			began := time.Now()
			changed := d.Check()
			if took := time.Since(began); took != wantTook || changed != wantChange {
				t.Errorf("a check took %v, changed: %v", took, changed)
			}
			if got := d.Local.Writable(); !slices.Equal(got, want) {
				t.Errorf("it leaves %q", got)
			}
		}
		check(true, patience, dir+"/b")
		if ok, report := d.Healthy(); !ok || !strings.Contains(report, dir+"/a : Directory does not answer") {
			t.Errorf("healthy %v, %q", ok, report)
		}
		check(false, 0, dir+"/b")
		if n := looks.Load(); n != 1 {
			t.Errorf("%d looks wait for the disk", n)
		}
		close(answer)
		synctest.Wait()
		check(true, 0, dir+"/a", dir+"/b")
	})
}

// And so it is for a real one.
func TestARealDiskThatHangs(t *testing.T) {
	dir := t.TempDir()
	release := hungdisk.Mount(t, dir+"/hung")
	d, err := New(Config{Local: []string{dir + "/hung/local", dir + "/good/local"}, Logs: []string{dir + "/good/log", dir + "/hung/log"}, Check: true, MinHealthy: 0.25, Patience: 8 * time.Second}, quiet(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Concat(d.Local.Writable(), d.Logs.Writable()); !slices.Equal(got, []string{dir + "/good/local", dir + "/good/log"}) {
		t.Errorf("folders %q", got)
	}
	release()
	// A check that goes on makes its folders anew, also in what the test removes at its end.
	await.Until(t, "the end of the checks", func() bool { return !d.Local.looking() && !d.Logs.looking() })
}

// looking reports whether a check waits for one of the disks.
func (l *Folders) looking() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.all, func(f *folder) bool { return f.looking })
}
