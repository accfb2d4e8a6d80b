package vm

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// boot starts a machine that ends with the test, which is skipped where machines can't run.
func boot(t *testing.T, o Options) *Machine {
	t.Helper()
	m, err := Boot(t.Context(), o)
	if errors.Is(err, ErrUnfit) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.PowerCut)
	return m
}

func run(t *testing.T, m *Machine, script string) string {
	t.Helper()
	out, err := m.Run(t.Context(), script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A power cut loses what was not synced, and nothing else. The machine has cgroups v2 and a clock of its own.
func TestMachine(t *testing.T) {
	disk := Options{Disks: []Disk{{Path: filepath.Join(t.TempDir(), "disk"), Size: 64 << 20}}}
	m := boot(t, disk)
	if got := run(t, m, "cat /sys/fs/cgroup/cgroup.controllers"); !strings.Contains(got, "memory") {
		t.Errorf("controllers: %q", got)
	}
	if got := run(t, m, "date -s 2001-02-03T04:05:06Z >/dev/null && date -u +%Y"); got != "2001\n" {
		t.Errorf("the year is %q", got)
	}
	if out, err := m.Run(t.Context(), "echo no; exit 3"); err == nil || out != "no\n" || !strings.Contains(err.Error(), "status 3") {
		t.Errorf("a script that fails: %q, %v", out, err)
	}
	run(t, m, "mkfs.ext4 -q /dev/vda && mount -o commit=1000 /dev/vda /disk && echo kept >/disk/kept && sync && echo lost >/disk/lost")
	m.PowerCut()
	if _, err := m.Run(t.Context(), "true"); !errors.Is(err, ErrDown) {
		t.Errorf("a script after the power was cut: %v", err)
	}
	m = boot(t, disk)
	if got := run(t, m, "mount /dev/vda /disk && cd /disk && ls -d kept lost 2>/dev/null; cat kept"); got != "kept\nkept\n" {
		t.Errorf("on the disk after a power cut: %q", got)
	}
}
