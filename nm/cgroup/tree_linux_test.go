package cgroup

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A file that takes nothing now says so, and isn't waited for. memory.reclaim is such a file.
func TestWriteDoesNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "full")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	reader := os.NewFile(uintptr(fd), path)
	defer reader.Close()
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, 4096))
	}
	if err := (kernelTree{}).write(path, "1"); !errors.Is(err, syscall.EAGAIN) {
		t.Errorf("%v", err)
	}
}
