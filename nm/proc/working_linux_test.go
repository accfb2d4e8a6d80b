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
		await.Until(t, c.command, func() bool { return Working(pids) == c.want && Running(pids) == c.want })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if Working(pids) || Running(pids) {
			t.Errorf("%s has ended, and works", c.command)
		}
	}
	for stat, want := range map[string]byte{"7 (a) R) S 1": 'S', "7 (a) S) R 1": 'R', "7 (a) D 1": 'D', "7 (a)": 0, "7 (a) ": 0, "": 0} {
		if got := stateOf([]byte(stat)); got != want {
			t.Errorf("%q: %q", stat, got)
		}
	}
}
