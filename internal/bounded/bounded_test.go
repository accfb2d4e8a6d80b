package bounded

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A file of 4 TB takes no room on a disk, and none in memory.
func TestAFileWithoutEndIsNotReadIntoMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "status")
	if err := os.WriteFile(path, []byte("pid 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 4<<40); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if b, err := ReadFile(path, 100); !errors.Is(err, ErrTooLong) || b != nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if b, err := ReadHead(path, 6); err != nil || string(b) != "pid 1\n" {
		t.Errorf("%q, %v", b, err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
		t.Errorf("it took %d bytes of memory", took)
	}
}

func TestReadAll(t *testing.T) {
	for text, ok := range map[string]bool{"": true, "1234": true, "12345": true, "123456": false} {
		b, err := ReadAll(bytes.NewReader([]byte(text)), 5)
		if (err == nil) != ok || ok && string(b) != text {
			t.Errorf("%q: %q, %v", text, b, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none"), 5); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A program chosen by a user may print without end.
func TestTailKeepsTheEnd(t *testing.T) {
	var all []byte
	tail := NewTail(10)
	for _, n := range []int{0, 3, 4, 5, 9, 10, 11, 1000, 1} {
		part := bytes.Repeat([]byte{byte('a' + n%26)}, n)
		all = append(all, part...)
		if got, err := tail.Write(part); got != n || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		if want := all[max(0, len(all)-10):]; !bytes.Equal(tail.Bytes(), want) || cap(tail.kept) > 64 {
			t.Errorf("%q (%d), want %q", tail.Bytes(), cap(tail.kept), want)
		}
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	if names, err := Names(dir, 2); err != nil || len(names) != 0 {
		t.Errorf("%q, %v", names, err)
	}
	for _, name := range []string{"b", "a"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := Names(dir, 2); err != nil || strings.Join(names, "") != "ab" {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := Names(dir, 1); !errors.Is(err, ErrTooLong) || names != nil {
		t.Errorf("%q, %v", names, err)
	}
}

// A pipe in the place of a file kept its reader waiting for ever.
func TestAPipeIsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func(string, int64) ([]byte, error){ReadFile, ReadHead} {
		if b, err := read(path, 10); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%q, %v", b, err)
		}
	}
}
