package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// kept describes a cluster that keeps running.
type kept struct {
	Dir   string `json:"dir"`
	Nodes []int  `json:"nodes"` // process ids
	RMs   []int  `json:"rms"`
}

func keptFile() string { return filepath.Join(os.TempDir(), "heddle-demo.json") }

func readKept() (k kept, err error) {
	raw, err := os.ReadFile(keptFile())
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(raw, &k); err != nil {
		return k, fmt.Errorf("%s: %w", keptFile(), err)
	}
	return k, nil
}

// runs reports whether a pid still belongs to a daemon of the cluster, and not to a later process.
func (k kept) runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), k.Dir)
}

// refuseSecond fails if another cluster runs: a second one could run as well, but the first could not be found again.
func refuseSecond() error {
	k, err := readKept()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, pid := range append(k.Nodes, k.RMs...) {
		if k.runs(pid) {
			return fmt.Errorf("the cluster of an earlier run still runs in %s; `make demo-stop` ends it", k.Dir)
		}
	}
	return os.Remove(keptFile())
}

// keep records the daemons for stopKept, and prints how to use and stop the cluster.
func (c *cluster) keep(ctx context.Context, w io.Writer) error {
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	k := kept{Dir: c.Dir()}
	for _, name := range c.NodeManagers {
		k.Nodes = append(k.Nodes, c.PID(name))
	}
	for _, id := range c.ResourceManagers {
		k.RMs = append(k.RMs, c.PID(id))
	}
	raw, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := os.WriteFile(keptFile(), raw, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nThe cluster keeps running; its pages are at http://%s/cluster\n  export HADOOP_CONF_DIR=%s   # then `heddle app -list`, or stock `yarn` and `hadoop jar`\n  make demo-stop   # ends it\n", c.web(leader), c.Conf())
	return nil
}

// stopKept ends the recorded daemons, the nodes first, and removes their folder.
func stopKept(w io.Writer) error {
	k, err := readKept()
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(w, "No cluster was left running.")
		return nil
	}
	if err != nil {
		return err
	}
	for _, pids := range [][]int{k.Nodes, k.RMs} {
		for _, pid := range pids {
			if k.runs(pid) {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		for _, pid := range pids {
			for end := time.Now().Add(patience); k.runs(pid); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			}
		}
	}
	if strings.Contains(filepath.Base(k.Dir), "heddle-demo-") {
		if err := os.RemoveAll(k.Dir); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "The cluster in %s has ended.\n", k.Dir)
	return os.Remove(keptFile())
}
