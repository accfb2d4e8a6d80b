package hungdisk

import (
	"os"
	"testing"
	"time"
)

func TestMount(t *testing.T) {
	dir := t.TempDir() + "/disk"
	release := Mount(t, dir)
	done := make(chan error, 1)
	go func() {
		_, err := os.ReadDir(dir)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("the disk answers: %v", err)
	case <-time.After(20 * time.Millisecond): // can only err to the good side
	}
	release()
	if err := <-done; err == nil {
		t.Error("a call that hung has succeeded")
	}
}
