package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"heddle/internal/clone"
)

// both runs a command as it is run here, and as package syscall starts it. It returns what differs.
func both(t *testing.T, r *Runner, c Command) (out string, got Result, err error) {
	t.Helper()
	var outs [2]bytes.Buffer
	var results [2]Result
	var errs [2]error
	for i := range 2 {
		unable.Store(i > 0)
		c.Stdout, c.Stderr = &outs[i], &outs[i]
		results[i], errs[i] = r.Run(t.Context(), c)
		results[i].Took = 0
	}
	unable.Store(false)
	if outs[0].String() != outs[1].String() || results[0] != results[1] || fmt.Sprint(errs[0]) != fmt.Sprint(errs[1]) {
		t.Errorf("%q: %+v, %v: %s\npackage syscall: %+v, %v: %s", c.Args, results[0], errs[0], &outs[0], results[1], errs[1], &outs[1])
	}
	return outs[0].String(), results[0], errs[0]
}

// A command gets what package syscall would give it: signals, limits, descriptors, folder, mask of new files, group.
func TestWhatCommandsInherit(t *testing.T) {
	r := runner(t)
	dir := t.TempDir()
	var files []*os.File
	for i := range 3 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint("file", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fmt.Fprint(f, i)
		if _, err := f.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, test := range []struct {
		script string
		files  []*os.File
		want   string // "": whatever package syscall gives
	}{
		{script: `grep -E '^(SigB|SigI|SigC|Cap|Groups|Umask|NoNewPrivs|Uid)' /proc/self/status; ulimit -a; pwd`},
		{script: `cut -d' ' -f1,5 /proc/$$/stat | { read pid group; [ $pid = $group ] && echo group of its own; }`, want: "group of its own\n"},
		{script: `cut -d' ' -f4,5 /proc/$$/stat`, want: fmt.Sprintln(os.Getpid())},
		// This process may have descriptors that it was started with. Those that it has opened stay with it.
		{script: `ls /proc/$$/fd`},
		{script: `readlink /proc/$$/fd/0; ls -l /proc/$$/fd | grep -c ` + dir, files: files[:1], want: "/dev/null\n1\n"},
		{script: `cat /dev/fd/3 /dev/fd/4 /dev/fd/5`, files: []*os.File{files[2], files[0], files[1]}, want: "201"},
		// Numbers below their places, and one that stays where it is.
		{script: `readlink /proc/$$/fd/3 /proc/$$/fd/4 /proc/$$/fd/5; ls /proc/$$/fd`, files: []*os.File{os.Stderr, os.NewFile(4, "4"), os.Stdin}},
		{script: `env | grep -v ` + Variable},
	} {
		c := Command{Args: []string{"sh", "-c", test.script}, Dir: dir, Files: test.files}
		c.Attached = strings.Contains(test.script, "-f4,5")
		out, got, err := both(t, r, c)
		if err != nil || got.Exit != 0 {
			t.Errorf("%s: %+v, %v: %s", test.script, got, err, out)
		}
		if c.Attached {
			test.want = fmt.Sprintf("%d %d\n", os.Getpid(), syscall.Getpgrp())
		}
		if test.want != "" && out != test.want {
			t.Errorf("%s: %q, want %q", test.script, out, test.want)
		}
	}
}

// A program that can't be executed is the same error, whoever starts it, and leaves nothing.
func TestStartsThatFail(t *testing.T) {
	r := runner(t)
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return at
	}
	busy := write("busy", "#!/bin/sh\n", 0o700)
	f, err := os.OpenFile(busy, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		c    Command
		want error
	}{
		{Command{Args: []string{"/no/such/program"}}, syscall.ENOENT},
		{Command{Args: []string{write("other", "#!/no/such/interpreter\n", 0o700)}}, syscall.ENOENT},
		{Command{Args: []string{"true"}, Dir: "/no/such/folder"}, syscall.ENOENT},
		{Command{Args: []string{"true"}, Dir: busy}, syscall.ENOTDIR},
		{Command{Args: []string{dir}}, syscall.EACCES},
		{Command{Args: []string{write("locked", "#!/bin/sh\n", 0o600)}}, syscall.EACCES},
		{Command{Args: []string{busy}}, syscall.ETXTBSY},
		{Command{Args: []string{loop}}, syscall.ELOOP},
		{Command{Args: []string{"true", strings.Repeat("x", 1<<20)}}, syscall.E2BIG},
		{Command{Args: []string{"true", "a\x00b"}}, syscall.EINVAL},
		{Command{Args: []string{write("binary", "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 9)+strings.Repeat("\xff", 100), 0o700)}}, nil},
	} {
		_, got, err := both(t, r, test.c)
		if !errors.Is(err, test.want) {
			t.Errorf("%.40q in %q: %+v, %v, want %v", test.c.Args, test.c.Dir, got, err, test.want)
		}
		if fault := (*fs.PathError)(nil); test.want != nil && (!errors.As(err, &fault) || fault.Op != "fork/exec") {
			t.Errorf("%.40q: %T %v", test.c.Args, err, err)
		}
	}
	if left := children(); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// Go raises the limit of open files for itself, and not for commands.
func TestTheLimitOfOpenFilesIsTheOriginalOne(t *testing.T) {
	const question = "HEDDLE_TEST_LIMIT"
	if os.Getenv(question) != "" {
		out, _, err := both(t, runner(t), Command{Args: []string{"sh", "-c", "ulimit -Sn; ulimit -Hn"}})
		if out != "100\n300\n" || err != nil {
			t.Errorf("%q, %v, %+v", out, err, clone.Files)
		}
		return
	}
	self := exec.Command("sh", "-c", `ulimit -Sn 100 && ulimit -Hn 300 && exec "$0" -test.run '^TestTheLimitOfOpenFilesIsTheOriginalOne$'`, os.Args[0])
	self.Env = append(os.Environ(), question+"=1")
	if out, err := self.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// Many starts at once, while memory is collected: nothing that a process needs before it executes its program may go.
func TestManyStartsAtOnce(t *testing.T) {
	r := runner(t)
	done := make(chan error)
	for i := range 8 {
		go func() {
			var err error
			for k := 0; k < 20 && err == nil; k++ {
				var out bytes.Buffer
				want := fmt.Sprint(i, k)
				var got Result
				got, err = r.Run(t.Context(), Command{Args: []string{"sh", "-c", "echo $0 $A; exit 3", want}, Env: []string{"PATH=/bin:/usr/bin", "A=" + want}, Stdout: &out})
				if err == nil && (out.String() != want+" "+want+"\n" || got.Exit != 3) {
					err = fmt.Errorf("%q, %+v", out.String(), got)
				}
				garbage.Store(bytes.Repeat([]byte("x"), 1<<20))
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

var garbage atomic.Value
