package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/rm"
)

// still is a cluster of daemons whose load stands still: applications that run, wait, are suspended and have ended.
type still struct {
	*testing.T
	*daemons.Cluster
	binary, at, leader string
}

// built is the binary.
func built(t *testing.T) string {
	t.Helper()
	binary, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return binary
}

// standsStill starts the cluster: three ResourceManagers, two nodes of which one has a label, two queues, and four users.
func standsStill(t *testing.T) *still {
	t.Helper()
	binary := built(t)
	const queues = "yarn.scheduler.capacity.root."
	c := cluster.Start(t, daemons.Options{Binary: binary, Dir: t.TempDir(), ResourceManagers: 3, NodeManagers: 2, Memory: 4096, Direct: true, Set: map[string]string{
		"yarn.node-labels.enabled": "true", "yarn.scheduler.minimum-allocation-mb": "256", "yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		queues + "queues": "prod,dev", queues + "prod.capacity": "60", queues + "dev.capacity": "40", queues + "dev.maximum-capacity": "50", queues + "prod.user-limit-factor": "2", queues + "dev.user-limit-factor": "2",
		queues + "accessible-node-labels": "gpu", queues + "accessible-node-labels.gpu.capacity": "100", queues + "prod.accessible-node-labels.gpu.capacity": "70", queues + "dev.accessible-node-labels.gpu.capacity": "30",
	}})
	s := &still{T: t, Cluster: c, binary: binary}
	var err error
	if s.leader, err = c.Leader(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	s.at = "http://" + c.Address(s.leader, rm.WebAddress)
	await.Slowly(t, "both nodes work", func() bool { return s.number("/ws/v1/cluster/metrics", "clusterMetrics", "activeNodes") == 2 })
	s.heddle("", "rmadmin", "-addToClusterNodeLabels", "gpu(exclusive=false)")
	s.heddle("", "rmadmin", "-replaceLabelsOnNode", strings.SplitN(c.Address("nm2", "yarn.nodemanager.address"), ":", 2)[0]+"=gpu")
	s.load()
	return s
}

// load starts what doesn't end, and lets one application end and one be killed.
func (s *still) load() {
	s.Helper()
	if out := s.heddle("cy", "xargs", "--queue", "prod", "--memory", "256", "-I{}", "echo", "{}"); out != "1\n" {
		s.Fatalf("xargs said %q", out)
	}
	var all struct {
		Containers struct {
			Container []struct {
				ContainerID string `json:"containerId"`
			}
		}
	}
	s.stays("ann", "prod", 3)
	await.Slowly(s, "ann's containers run", func() bool {
		s.rest("/ws/v1/heddle/containers?user=ann&state=RUNNING", &all)
		return len(all.Containers.Container) == 3
	})
	running := func() float64 { return s.number("/ws/v1/cluster/metrics", "clusterMetrics", "appsRunning") }
	s.stays("dan", "prod", 1)
	await.Slowly(s, "two applications run", func() bool { return running() == 2 })
	s.heddle("dan", "app", "-kill", s.app("dan"))
	await.Slowly(s, "one is killed", func() bool { return running() == 1 })
	s.stays("bob", "dev", 9)
	await.Slowly(s, "bob's containers run, and some wait", func() bool {
		return s.number("/ws/v1/heddle/containers?user=bob&state=RUNNING", "containers", "matched") > 2 && s.number("/ws/v1/heddle/waiting", "waiting", "matched") == 1
	})
	s.heddle("ann", "container", "-suspend", all.Containers.Container[1].ContainerID, "-level", "frozen", "-breathe", "never")
	await.Slowly(s, "the node has suspended it", func() bool { return s.number("/ws/v1/heddle/containers?state=SUSPENDED", "containers", "matched") == 1 })
}

// stays runs commands that don't end as an application of a user.
func (s *still) stays(user, queue string, n int) {
	s.Helper()
	cmd := exec.Command(s.binary, "xargs", "--conf", s.Conf(), "--queue", queue, "--memory", "512", "-P", fmt.Sprint(n), "-I{}", "sleep", "100{}")
	cmd.Env = append(os.Environ(), "HADOOP_USER_NAME="+user)
	cmd.Stdin = strings.NewReader(strings.Repeat("0\n", n))
	log, err := os.Create(filepath.Join(s.TempDir(), user))
	if err != nil {
		s.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		_ = log.Close()
	})
}

// heddle runs a command and returns what it prints.
func (s *still) heddle(user string, args ...string) string {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), s.binary, append([]string{args[0], "--conf", s.Conf()}, args[1:]...)...)
	cmd.Env = os.Environ()
	if user != "" {
		cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+user)
	}
	cmd.Stdin = strings.NewReader("1\n")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("heddle %s: %v\n%s%s", args, err, out, said.String())
	}
	return string(out)
}

// app is the newest application of a user.
func (s *still) app(user string) (id string) {
	s.Helper()
	var apps struct {
		Apps struct{ App []struct{ ID string } }
	}
	await.Slowly(s, user+" has an application", func() bool {
		s.rest("/ws/v1/heddle/apps?user="+user, &apps)
		return len(apps.Apps.App) > 0
	})
	return apps.Apps.App[0].ID
}

// rest asks REST.
func (s *still) rest(path string, into any) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.at+path, nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil || resp.StatusCode != http.StatusOK {
		s.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
}

// number is one figure of an answer of REST.
func (s *still) number(path string, keys ...string) float64 {
	s.Helper()
	var answer any
	s.rest(path, &answer)
	return num(at(answer, keys...))
}
