package container

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/gpu"
	"heddle/nm/suspend"
)

// The scheduler's orders reach a container in an image: it is suspended, its memory is paged out and counts as free, a restart of the node finds it so, and
// it resumes with what it had.
func TestMemoryOfAnImageIsPagedOut(t *testing.T) {
	const bytes = 96 << 20
	swapfile.On(t, 512<<20)
	l := newImageLab(t)
	if !l.node.Groups.Capabilities().Reclaim {
		return // it says so: see nm/cgroup
	}
	// tail keeps the whole line until it ends
	command := fmt.Sprintf(`(head -c %d /dev/zero | tr '\0' x; touch ready; while ! [ -e go ]; do sleep 0.01; done) | tail -n 1 | wc -c > <LOG_DIR>/stdout; exit 7`, bytes)
	c := l.run(job{id: containerID(50, 1), memory: 512, env: asksFor("team/folder:1"), command: command})
	await.Until(t, "it has the memory", func() bool {
		if c.State() != Running || !exists(c.Status().WorkDir+"/ready") {
			return c.State() == Done
		}
		use, err := c.Group().Usage()
		return err == nil && use.Memory > bytes
	})
	order(t, c, level(suspend.Reclaimed, 64, 0, 1))
	settled(t, c, suspend.Reclaimed)
	if use, err := c.Group().Usage(); err != nil || use.Memory > 64<<20 {
		t.Errorf("%d bytes are in memory, %v", use.Memory, err)
	}
	l.restart()
	c = l.container(containerID(50, 1))
	settled(t, c, suspend.Reclaimed)
	if held := l.node.room.Used().MemoryMB(); held != 64 {
		t.Errorf("it holds %d MB", held)
	}
	order(t, c, level(suspend.Running, 512, 1, 2))
	settled(t, c, suspend.Running)
	work := c.Status().WorkDir
	if err := os.WriteFile(work+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := waitDone(t, c)
	if out := logOf(t, s, "stdout"); s.ExitCode != 7 || strings.TrimSpace(out) != strconv.Itoa(bytes) {
		t.Errorf("exit code %d, %q; %s", s.ExitCode, out, s.Diagnostics)
	}
}

// A container in an image has the device files of its own GPUs, may use them, and can neither find nor make those of others.
func TestGPUsInImages(t *testing.T) {
	const mine, others = 190, 191 // no machine has so many
	for _, minor := range []int{mine, others} {
		path := fmt.Sprintf("/dev/nvidia%d", minor)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil { // /dev/zero's: there is no GPU
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(path) })
		if err := os.Chmod(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	l := newImageLab(t)
	l.node.cfg.GPUs = gpu.NewPool([]gpu.Device{{Index: 0, Minor: mine}, {Index: 1, Minor: others}})
	l.node.cfg.Types = withGPUs
	command := fmt.Sprintf(`(ls /dev | grep nvidia; head -c 3 /dev/nvidia%d | wc -c; head -c 3 /dev/nvidia%d; mknod dev c 1 5 || echo closed; echo $CUDA_VISIBLE_DEVICES) > <LOG_DIR>/stdout 2>/dev/null; exit 7`, mine, others)
	s := waitDone(t, l.run(job{id: containerID(51, 1), env: asksFor("team/folder:1"), gpus: 1, command: command}))
	if s.ExitCode != 7 {
		t.Fatalf("exit code %d; %s", s.ExitCode, s.Diagnostics)
	}
	if out := logOf(t, s, "stdout"); out != "nvidia190\n3\nclosed\n0\n" {
		t.Errorf("%q", out)
	}
	s = waitDone(t, l.run(job{id: containerID(51, 2), env: asksFor("team/folder:1"), command: "(ls /dev | grep nvidia) > <LOG_DIR>/stdout; exit 7"}))
	if out := logOf(t, s, "stdout"); out != "" {
		t.Errorf("without a GPU: %q", strings.TrimSpace(out))
	}
}
