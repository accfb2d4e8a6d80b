// Package cluster starts the daemons of a cluster for a test, and ends them with it.
package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"heddle/am/client"
	"heddle/conf"
	"heddle/integration/daemons"
)

// New prepares a cluster whose daemons are killed when the test ends, and what they have started with them. It fails the
// test if a daemon has panicked. A test that failed shows the ends of their logs.
func New(t testing.TB, o daemons.Options) *daemons.Cluster {
	t.Helper()
	c, err := daemons.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		for _, p := range c.Panics() {
			t.Errorf("panic: %s", p)
		}
		if t.Failed() {
			t.Log(c.Tails(6000))
		}
	})
	return c
}

// Start is New with all daemons started.
func Start(t testing.TB, o daemons.Options) *daemons.Cluster {
	t.Helper()
	c := New(t, o)
	if err := c.StartAll(); err != nil {
		t.Fatal(err)
	}
	return c
}

// Stop tells the daemons that run to end, nodes first: they end their containers. It fails the test if one doesn't.
func Stop(t testing.TB, c *daemons.Cluster) {
	t.Helper()
	for _, names := range [][]string{c.NodeManagers, c.Members()} {
		for _, name := range names {
			if err := c.Stop(name); err != nil {
				t.Error(err)
			}
		}
	}
}

// Applications returns the calls about applications of the user who runs the test.
func Applications(t testing.TB, c *daemons.Cluster) *client.Applications {
	t.Helper()
	cfg, err := conf.Load(conf.Options{Dir: c.Conf()})
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.NewCluster(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	apps, err := cl.Applications("")
	if err != nil {
		t.Fatal(err)
	}
	return apps
}

// Standalone starts heddle standalone with an environment, and with its log in a file of that name in a folder. It is told to end with the test, which fails if
// it ended with an error. A test that failed shows the end of the log.
func Standalone(t testing.TB, binary, dir string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"standalone"}, args...)...)
	cmd.Dir, cmd.Env = "/", env
	log := filepath.Join(dir, "log")
	to, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	cmd.Stdout, cmd.Stderr = to, to
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("heddle standalone: %v", err)
		}
		if said, err := os.ReadFile(log); t.Failed() {
			t.Logf("the end of its log (%v):\n%s", err, said[max(0, len(said)-6000):])
		}
	})
}
