package ramdisk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
)

// TestMain is the helper as well, and a daemon that is killed.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "daemon" {
		if err := daemon(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "helper" {
		if err := Helper(os.Stdin, os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// daemon makes a copy, and begins another one of what its standard input has, which doesn't end.
func daemon(dir string) error {
	var helper int
	c := Config{Dir: dir, Size: 1 << 20, Helper: []string{os.Args[0], "helper"}, Join: func(pid int) error {
		helper = pid
		return nil
	}}
	d, err := Open(c)
	if err != nil {
		return err
	}
	path, _, err := d.Copy(context.Background(), reader, strings.NewReader("abc"), 3)
	if err != nil {
		return err
	}
	_, _, err = d.Copy(context.Background(), reader, &saying{path: path, helper: &helper}, 1<<19)
	return err
}

// saying gives one byte, says then who copies it, and gives nothing more.
type saying struct {
	path   string
	helper *int
	given  bool
}

func (s *saying) Read(b []byte) (int, error) {
	if !s.given {
		s.given = true
		b[0] = 'x'
		return 1, nil
	}
	fmt.Println(s.path, *s.helper)
	_, err := io.Copy(io.Discard, os.Stdin)
	return 0, err
}

const reader = 12345 // a uid

func open(t *testing.T, size int64) (*Disk, Config) {
	t.Helper()
	c := Config{Dir: filepath.Join(t.TempDir(), "ramdisk"), Size: size, Helper: []string{os.Args[0], "helper"}, Join: func(int) error { return nil }}
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Clear(c.Dir); err != nil {
			t.Error(err)
		}
	})
	return d, c
}

// mounts is how many mounts lie in a folder.
func mounts(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), dir)
}

// A copy is its reader's alone, who can't change it, and has its room back when it is gone.
func TestACopyIsItsReadersAlone(t *testing.T) {
	d, _ := open(t, 1<<20)
	data := bytes.Repeat([]byte("heddle "), 10000)
	path, remove, err := d.Copy(t.Context(), reader, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o400 || info.Sys().(*syscall.Stat_t).Uid != reader {
		t.Errorf("%v, %v", info, err)
	}
	for what, err := range map[string]error{
		"chmod": os.Chmod(path, 0o600), "write": os.WriteFile(path, nil, 0o600), "create": os.WriteFile(path+"x", nil, 0o600), "remove": os.Remove(path),
	} {
		if !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if inside, err := os.Stat(d.in()); err != nil || inside.Mode().Perm() != 0o700 {
		t.Errorf("users may write: %v, %v", inside, err)
	}
	if d.Used() < int64(len(data)) {
		t.Errorf("%d bytes are used", d.Used())
	}
	remove()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || d.Used() != 0 {
		t.Errorf("%v, %d bytes", err, d.Used())
	}
}

// What can't be copied leaves nothing: no room, a source that ends early, a caller that doesn't wait, a group that takes no process.
func TestACopyThatFailsLeavesNothing(t *testing.T) {
	d, _ := open(t, 1<<16)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, copy := range map[string]func() error{
		"full": func() error {
			_, _, err := d.Copy(t.Context(), reader, bytes.NewReader(make([]byte, 1<<17)), 1<<17)
			if !errors.Is(err, ErrFull) {
				t.Errorf("full: %v", err)
			}
			return err
		},
		"short": func() error {
			_, _, err := d.Copy(t.Context(), reader, strings.NewReader("abc"), 4)
			return err
		},
		"canceled": func() error {
			_, _, err := d.Copy(canceled, reader, strings.NewReader("abc"), 3)
			return err
		},
		"nothing": func() error {
			_, _, err := d.Copy(t.Context(), reader, strings.NewReader(""), 0)
			return err
		},
		"no group": func() error {
			alone := &Disk{c: d.c}
			alone.c.Join = func(int) error { return syscall.ENOENT }
			_, _, err := alone.Copy(t.Context(), reader, strings.NewReader("abc"), 3)
			return err
		},
	} {
		if err := copy(); err == nil {
			t.Errorf("%s: no error", name)
		}
		left, err := os.ReadDir(d.out())
		if err != nil || len(left) > 0 || d.Used() != 0 {
			t.Errorf("%s: %v, %v, %d bytes", name, left, err, d.Used())
		}
	}
}

// A daemon that was killed leaves its mounts. The next one removes them, though a task has a copy open.
func TestTheNextDaemonClears(t *testing.T) {
	first, c := open(t, 1<<20)
	path, _, err := first.Copy(t.Context(), reader, strings.NewReader("abc"), 3)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	second, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) || mounts(t, c.Dir) != 2 {
		t.Errorf("%v, %d mounts", err, mounts(t, c.Dir))
	}
	if b, err := io.ReadAll(f); err != nil || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
	if err := second.Close(); err != nil || mounts(t, c.Dir) != 0 {
		t.Errorf("%v, %d mounts", err, mounts(t, c.Dir))
	}
	if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A helper whose daemon is gone before all bytes have come ends, and removes what it has written.
func TestAHelperEndsWithItsPipe(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0], "helper", dir)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "x 10\nabc"); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := c.Wait(); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// A daemon that is killed with a copy made and another one under way leaves mounts and files, which its successor removes. Its helper ends by itself.
func TestAKilledDaemonLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ramdisk")
	t.Cleanup(func() {
		if err := Clear(dir); err != nil {
			t.Error(err)
		}
	})
	c := exec.Command(os.Args[0], "daemon", dir)
	c.Stderr = os.Stderr
	if _, err := c.StdinPipe(); err != nil { // it stays open until the daemon is dead
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var path string
	var helper int
	_, err = fmt.Fscan(out, &path, &helper)
	killed := c.Process.Kill()
	_ = c.Wait() // it was killed
	if err = errors.Join(err, killed); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the helper has ended", func() bool { return ended(helper) })
	if left, err := os.ReadDir(filepath.Join(dir, "out")); err != nil || len(left) != 1 || mounts(t, dir) != 2 {
		t.Errorf("the copy that was made should be all that is left: %v, %v, %d mounts", left, err, mounts(t, dir))
	}
	if err := Clear(dir); err != nil || mounts(t, dir) != 0 {
		t.Errorf("%v, %d mounts", err, mounts(t, dir))
	}
	for _, gone := range []string{path, dir} {
		if _, err := os.Stat(gone); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", gone, err)
		}
	}
}

// second calls do at its second read: the first part of a copy is written, or on its way.
type second struct {
	do    func()
	reads int
}

func (s *second) Read(b []byte) (int, error) {
	if s.reads++; s.reads == 2 {
		s.do()
	}
	clear(b)
	return len(b), nil
}

// A helper that is killed leaves neither a file nor taken room, and the next copy is made.
func TestAKilledHelperLeavesNothing(t *testing.T) {
	d, _ := open(t, 8<<20)
	var helper int
	d.c.Join = func(pid int) error {
		helper = pid
		return nil
	}
	kill := &second{do: func() {
		if err := syscall.Kill(helper, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}}
	if _, _, err := d.Copy(t.Context(), reader, kill, 6<<20); err == nil {
		t.Error("no error")
	}
	left, err := os.ReadDir(d.out())
	if err != nil || len(left) > 0 || d.Used() != 0 {
		t.Errorf("%v, %v, %d bytes", left, err, d.Used())
	}
	if path, _, err := d.Copy(t.Context(), reader, strings.NewReader("abc"), 3); err != nil || !d.Has(path) {
		t.Errorf("%s, %v", path, err)
	}
}

// A copy that can't be removed, as the disk has become read-only, isn't free room. It is removed when that is possible again.
func TestWhatCannotBeRemovedIsNotFree(t *testing.T) {
	d, _ := open(t, 1<<20)
	const size = 700 << 10
	copy := func() (func(), error) {
		_, remove, err := d.Copy(t.Context(), reader, bytes.NewReader(make([]byte, size)), size)
		return remove, err
	}
	remove, err := copy()
	if err != nil {
		t.Fatal(err)
	}
	again := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", d.files(), "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	again(syscall.MS_RDONLY)
	remove()
	if _, err := copy(); !errors.Is(err, ErrFull) || d.Used() < size {
		t.Errorf("read-only: %v, %d bytes are used", err, d.Used())
	}
	again(0)
	if remove, err = copy(); err != nil {
		t.Fatal(err)
	}
	remove()
	if left, err := os.ReadDir(d.out()); err != nil || len(left) > 0 || d.Used() != 0 {
		t.Errorf("%v, %v, %d bytes", left, err, d.Used())
	}
}

// A copy that was removed while a task has it open takes its room until the task closes it. Nothing of another one is read before.
func TestWhatIsStillOpenIsNotFree(t *testing.T) {
	d, _ := open(t, 1<<20)
	const size = 700 << 10
	path, remove, err := d.Copy(t.Context(), reader, bytes.NewReader(make([]byte, size)), size)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	remove()
	from := &second{do: func() {}}
	if _, _, err := d.Copy(t.Context(), reader, from, size); !errors.Is(err, ErrFull) || from.reads > 0 || d.Used() != 0 {
		t.Errorf("%v, %d reads, %d bytes are used", err, from.reads, d.Used())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := d.Copy(t.Context(), reader, from, size); err != nil {
		t.Error(err)
	}
}

// Room that goes while a copy is written ends that copy, and leaves nothing of it. The next one is made when there is room.
func TestADiskThatFillsUpDuringACopy(t *testing.T) {
	d, _ := open(t, 8<<20)
	other := filepath.Join(d.files(), "other")
	fill := &second{do: func() {
		if err := os.WriteFile(other, make([]byte, 7<<20), 0o600); err != nil {
			t.Error(err)
		}
	}}
	if _, _, err := d.Copy(t.Context(), reader, fill, 6<<20); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(d.out()); err != nil || len(left) != 1 || d.Used() != 0 {
		t.Errorf("%v, %v, %d bytes", left, err, d.Used())
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	if path, _, err := d.Copy(t.Context(), reader, fill, 6<<20); err != nil || !d.Has(path) {
		t.Errorf("%s, %v", path, err)
	}
}

// Without one of its mounts there is no copy, before it is written or while it is, and nothing is written to the disk below. Copies of before aren't there any more.
func TestALostMount(t *testing.T) {
	for _, mount := range []string{"out", "in/files"} {
		t.Run(mount, func(t *testing.T) {
			d, c := open(t, 8<<20)
			before, _, err := d.Copy(t.Context(), reader, strings.NewReader("abc"), 3)
			if err != nil || !d.Has(before) {
				t.Fatalf("%s, %v", before, err)
			}
			used := d.Used()
			lose := &second{do: func() {
				if err := syscall.Unmount(filepath.Join(c.Dir, mount), syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			}}
			// Whether the helper has opened its file before the mount went isn't known: where only "in/files" is gone, the copy may be a good one.
			path, _, err := d.Copy(t.Context(), reader, lose, 2<<20)
			if (err == nil) != d.Has(path) || mount == "out" && !errors.Is(err, ErrLost) {
				t.Errorf("while it was written: %q, %v", path, err)
			}
			if err == nil {
				used = d.Used()
			}
			d.c.Join = func(int) error {
				t.Error("a helper writes to the disk below")
				return nil
			}
			if _, _, err := d.Copy(t.Context(), reader, strings.NewReader("abc"), 3); !errors.Is(err, ErrLost) || d.Used() != used {
				t.Errorf("afterwards: %v, %d bytes instead of %d", err, d.Used(), used)
			}
			if left, err := os.ReadDir(filepath.Join(c.Dir, mount)); err != nil || len(left) > 0 {
				t.Errorf("below the mount: %v, %v", left, err)
			}
			if mount == "out" && d.Has(before) {
				t.Error("a copy is there that can't be read")
			}
			if err := d.Close(); err != nil || mounts(t, c.Dir) != 0 {
				t.Errorf("%v, %d mounts", err, mounts(t, c.Dir))
			}
		})
	}
}

// joined counts the helpers that are started.
func joined(d *Disk) *[]int {
	var pids []int
	d.c.Join = func(pid int) error {
		pids = append(pids, pid)
		return nil
	}
	return &pids
}

// ended reports whether a process is gone, or is only waited for. Its first thread may end before the others.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid)) // none if it is gone
	return err != nil || strings.Contains(string(stat), ") Z ") && len(threads) <= 1
}

// One helper makes copy after copy. One that has died meanwhile is replaced, and nothing of the copy is lost. Without work it ends.
func TestAHelperIsUsedAgain(t *testing.T) {
	d, _ := open(t, 8<<20)
	pids := joined(d)
	data := bytes.Repeat([]byte("0123456789abcdef"), 100_000)
	copies := func(n int) {
		t.Helper()
		for range n {
			path, remove, err := d.Copy(t.Context(), reader, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			remove()
		}
	}
	copies(3)
	if len(*pids) != 1 {
		t.Fatalf("helpers %v made three copies in turn", *pids)
	}
	if err := syscall.Kill((*pids)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the helper has ended", func() bool { return ended((*pids)[0]) })
	copies(2)
	if len(*pids) != 2 {
		t.Errorf("helpers %v", *pids)
	}
	await.Until(t, "the helper has ended without work", func() bool { return ended((*pids)[1]) })
	copies(1)
	if err := syscall.Kill((*pids)[2], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil || !ended((*pids)[2]) {
		t.Errorf("the helper should end with the disk: %v", err)
	}
}

// A helper refuses what is no name and size of a file in its folder, and writes nothing.
func TestAHelperWritesInItsFolderOnly(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"../x 1", "a/b 1", ". 1", " 1", "x", "x 0", "x -1", "x 1e3", strings.Repeat("x", longestHeader)} {
		if err := Helper(strings.NewReader(header+"\nabc"), io.Discard, dir); err == nil {
			t.Errorf("%.20q: no error", header)
		}
	}
	for _, at := range []string{dir, above} {
		if left, err := os.ReadDir(at); err != nil || at == dir && len(left) > 0 || len(left) > 1 {
			t.Errorf("%v, %v", left, err)
		}
	}
}
