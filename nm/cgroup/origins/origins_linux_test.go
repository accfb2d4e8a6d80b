package origins

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"heddle/internal/await"
	"heddle/nm/proc"
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

// Each of a node's containers looked at all processes of the machine when the node started and ended: 200 of them did so for minutes.
func TestThoseWhoAskAtTheSameTimeShareALook(t *testing.T) {
	o := New("CONTAINER_ID")
	looks := 0
	begun, proceed := make(chan struct{}), make(chan struct{})
	o.snapshot = func() (*proc.Table, error) {
		if looks++; looks == 1 {
			close(begun)
			<-proceed
		}
		return proc.Snapshot()
	}
	var askers sync.WaitGroup
	ask := func(i int) {
		askers.Go(func() {
			if _, _, err := o.Started(fmt.Sprint("container_1_1_1_", i)); err != nil {
				t.Error(err)
			}
		})
	}
	ask(0)
	<-begun
	for i := range 200 {
		ask(i + 1)
	}
	await.Until(t, "they wait", func() bool { return o.looks.Waiting() == 200 })
	close(proceed)
	askers.Wait()
	if looks != 2 {
		t.Errorf("%d looks", looks)
	}
}
