package jobs

import (
	"os"
	"os/exec"
	"testing"

	"heddle/internal/needs"
)

// The tests of the Python library pass on this machine and on a cluster.
func TestPythonLibrary(t *testing.T) {
	c := startCluster(t, 1, 2, nil)
	for name, conf := range map[string]string{"here": "", "on a cluster": c.conf} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(needs.Program(t, "python3"), "-B", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", "tests")
			cmd.Dir = "../../python"
			cmd.Env = append(os.Environ(), "HEDDLE_BINARY="+c.binary)
			if conf != "" {
				cmd.Env = append(cmd.Env, "HEDDLE_TEST_CONF="+conf)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
