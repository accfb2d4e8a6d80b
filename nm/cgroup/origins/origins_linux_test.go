package origins

import (
	"io"
	"os/exec"
	"testing"
	"time"

	"heddle/internal/await"
)

// A process that is about to begin a container's program still has the environment of who forked it, and has none for a moment.
func TestOriginsSeeWhoBeginsAProgram(t *testing.T) {
	const name = "container_1_1_1_25"
	cmd := exec.Command("sh", "-c", "read line; exec env "+"CONTAINER_ID="+name+" sleep 600")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	o := New("CONTAINER_ID")
	o.newFor = time.Hour
	if found, _, err := o.Started(name); err != nil || len(found) > 0 {
		t.Fatalf("%v, %v before it begins", found, err)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "it is found", func() bool {
		found, _, err := o.Started(name)
		return err == nil && len(found) == 1 && found[0].PID == cmd.Process.Pid
	})
}

// A look at origins knew processes by their pids alone. One that got the pid of an earlier one was never looked at.
func TestAProcessWithThePidOfAnEarlierOneIsLookedAt(t *testing.T) {
	const name = "container_1_1_1_27"
	cmd := exec.Command("sleep", "600")
	cmd.Env = []string{"CONTAINER_ID=" + name}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	o := New("CONTAINER_ID")
	o.seen = map[int]origin{cmd.Process.Pid: {start: 1}}
	await.Until(t, "it is found", func() bool {
		found, _, err := o.Started(name)
		return err == nil && len(found) == 1 && found[0].PID == cmd.Process.Pid
	})
}
