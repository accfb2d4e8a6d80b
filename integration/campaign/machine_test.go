package campaign

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/integration/vm"
)

// What was acknowledged is there after the power was cut, and no step of the clock costs a container.
func TestPowerCutsAndClockSteps(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it cuts the power of a virtual machine, which takes some minutes
	if _, err := vm.Prepare(t.Context()); errors.Is(err, vm.ErrUnfit) {
		t.Skip(err)
	}
	built, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	dir, err := os.MkdirTemp("/var/tmp", "campaign") // the machine has a /tmp of its own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "heddle")
	raw, err := os.ReadFile(built)
	if err == nil {
		err = errors.Join(os.WriteFile(binary, raw, 0o755), os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "episode"), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	ep := episode{machine: true}
	for i, kind := range []string{"clock an hour ahead", "clock an hour behind", "power cut", "disk slow"} {
		ep.faults = append(ep.faults, fault{Number: i, Kind: kind, Gap: 5 * time.Second, Hold: 10 * time.Second})
	}
	got, err := perform(t.Context(), options{binary: binary}, ep, filepath.Join(dir, "episode"), t.Logf)
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d applications acknowledged, %d containers, %d jobs", got.checked.Acknowledged, got.checked.Containers, got.jobs)
}
