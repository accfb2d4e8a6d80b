package proc

import (
	"os/exec"
	"testing"

	"heddle/internal/await"
)

// A process that sleeps doesn't work, one that computes does, and one that has ended doesn't.
func TestWorking(t *testing.T) {
	for _, c := range []struct {
		command string
		want    bool
	}{{"while :; do :; done", true}, {"exec sleep 1000", false}} {
		cmd := exec.Command("sh", "-c", c.command)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pids := []int{cmd.Process.Pid}
		await.Until(t, c.command, func() bool { return Working(pids) == c.want })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if Working(pids) {
			t.Errorf("%s has ended, and works", c.command)
		}
	}
	for stat, want := range map[string]bool{"7 (a) R) S 1": false, "7 (a) S) R 1": true, "7 (a) D 1": true, "7 (a)": false, "7 (a) ": false, "": false} {
		if got := works([]byte(stat)); got != want {
			t.Errorf("%q: %v", stat, got)
		}
	}
}
