package jobs

import (
	"os"
	"os/exec"
	"testing"

	"heddle/internal/needs"
)

// The tests of the Python library pass on this machine and on a cluster.
func TestPythonLibrary(t *testing.T) {
	c := startCluster(t, 1, 2, map[string]string{"heddle.probes.memory-mb": "2048", "heddle.probes.vcores": "4"})
	for name, env := range map[string][]string{
		"here": nil, "on a cluster": {"HEDDLE_TEST_CONF=" + c.conf}, "by probes": {"HEDDLE_TEST_CONF=" + c.conf, "HEDDLE_TEST_PROBES=yes"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(needs.Program(t, "python3"), "-B", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", "tests")
			cmd.Dir = "../../python"
			cmd.Env = append(append(os.Environ(), "HEDDLE_BINARY="+c.binary), env...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}
