package hadooplab

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// SmallDisk makes a folder on a disk of so many MB in memory, which is gone with the test. Where none can be mounted the test is skipped.
func SmallDisk(t *testing.T, folder string, mb int) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=755", mb), "tmpfs", folder).CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted here: %s", out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", folder).CombinedOutput(); err != nil {
			t.Errorf("umount: %s", out)
		}
	})
}
