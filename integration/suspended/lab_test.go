package suspended

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/rm"
	"heddle/yarn/ipc"
)

// binary is what the tests run. It checks its sums after each change.
var binary = sync.OnceValues(func() (string, error) {
	b, remove, err := hadooplab.BuildHeddle("invariants")
	cleanUp = remove
	return b, err
})

var cleanUp = func() {} // what binary has made

func TestMain(m *testing.M) {
	if dir := os.Getenv(workVariable); dir != "" {
		work(dir)
		return
	}
	code := m.Run()
	cleanUp()
	os.Exit(code)
}

// lab is a cluster of processes whose containers have a cgroup of their own on this machine.
type lab struct {
	*daemons.Cluster
	t      *testing.T
	group  string
	client *ipc.Client
	apps   *client.Applications
	nodes  []string // those that are to be there in the end
}

var labs atomic.Int32

func start(t *testing.T, rms, nms int, set map[string]string) *lab {
	t.Helper()
	nmtest.RealGroups(t)
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, group: fmt.Sprintf("heddle-suspended-%d-%d", os.Getpid(), labs.Add(1))}
	all := map[string]string{
		"heddle.cgroup.root": "/" + l.group, "heddle.log.level": "info", "yarn.nodemanager.resource.cpu-vcores": "8",
		"yarn.scheduler.minimum-allocation-mb":                    "64",
		"yarn.scheduler.capacity.maximum-am-resource-percent":     "1",
		"yarn.resourcemanager.am.max-attempts":                    "4",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "200",
		// Sums are to tell of vcores, too.
		"yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}
	for k, v := range set {
		all[k] = v
	}
	l.Cluster = cluster.Start(t, daemons.Options{Binary: b, Dir: t.TempDir(), ResourceManagers: rms, NodeManagers: nms, Memory: 4096, Set: all})
	t.Cleanup(func() { cluster.Stop(t, l.Cluster) })
	l.nodes = l.NodeManagers
	l.client = ipc.NewClient(ipc.ClientConfig{ConnectTimeout: time.Second, CallTimeout: 10 * time.Second})
	t.Cleanup(l.client.Close)
	l.apps = cluster.Applications(t, l.Cluster)
	await.Slowly(t, "the nodes are there, and the ledger records levels", func() bool {
		n := 0
		for _, id := range l.ResourceManagers {
			if b, err := os.ReadFile(l.LogFile(id)); err == nil && strings.Contains(string(b), "can apply a newer version of the ledger") {
				n++
			}
		}
		return n > 0 && l.active() == nms
	})
	return l
}

// get asks the ResourceManager that leads.
func (l *lab) get(path string, into any) error {
	_, err := l.ask(http.MethodGet, path, "", into)
	return err
}

func (l *lab) ask(method, path, body string, into any) (text string, err error) {
	for _, a := range l.Addresses(rm.WebAddress) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, method, "http://"+a+path, strings.NewReader(body)); err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json")
		var resp *http.Response
		if resp, err = http.DefaultClient.Do(req); err != nil {
			continue
		}
		var b []byte
		b, err = io.ReadAll(resp.Body)
		_ = resp.Body.Close() // all was read
		if err == nil && resp.StatusCode >= 300 {
			err = fmt.Errorf("%s: %s: %s", path, resp.Status, b)
		}
		if err == nil && into != nil {
			err = json.Unmarshal(b, into)
		}
		if err == nil {
			return string(b), nil
		}
	}
	return "", err
}

type metrics struct {
	ActiveNodes         int
	LostNodes           int
	ContainersAllocated int
	ContainersReserved  int
	ContainersPending   int
	AllocatedMB         int64
	AvailableMB         int64
	TotalMB             int64
}

func (l *lab) metrics() (m metrics, err error) {
	var answer struct{ ClusterMetrics metrics }
	err = l.get("/ws/v1/cluster/metrics", &answer)
	return answer.ClusterMetrics, err
}

func (l *lab) active() int {
	m, err := l.metrics()
	if err != nil {
		return -1
	}
	return m.ActiveNodes
}

// node is what the ResourceManager says of a node.
type node struct {
	ID, State                   string
	NumContainers               int
	UsedMemoryMB, AvailMemoryMB int64
	UsedVirtualCores            int64
	TotalResource               struct{ Memory, VCores int64 }
}

func (l *lab) node(name string) (n node) {
	l.t.Helper()
	return await.Value(l.t, "the ResourceManager tells of "+name, func() (node, bool) {
		var answer struct{ Nodes struct{ Node []node } }
		err := l.get("/ws/v1/cluster/nodes", &answer)
		for _, n := range answer.Nodes.Node {
			if n.ID == l.Address(name, "yarn.nodemanager.address") {
				return n, true
			}
		}
		return node{}, err == nil && false
	})
}

// box is what the ResourceManager says of a container.
type box struct {
	ContainerID, Level, State string
	Suspended                 bool
	Held, Resource            struct{ Memory, VCores int64 }
	Suspension                *struct {
		Times int
		For   string
		Text  string

		UnreportedSince int64

		OnNode *struct {
			Level        string
			SwappedBytes int64
			Reason       string
		}
	}
}

func (l *lab) box(id string) (b box, known bool) {
	var answer struct{ Container box }
	err := l.get("/ws/v1/heddle/containers/"+id+"?user.name=root", &answer)
	return answer.Container, err == nil
}

// onNode is what a container's node says of it.
type onNode struct {
	Level, WantedLevel, State string
	Suspended                 bool
	SwappedBytes              int64
	LastBreathTime            int64
}

func (l *lab) onNode(name, id string) (s onNode, known bool) {
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Get("http://" + l.Address(name, "yarn.nodemanager.webapp.address") + "/ws/v1/heddle/containers/" + id)
	if err != nil {
		return s, false
	}
	defer resp.Body.Close()
	var answer struct{ Container onNode }
	err = json.NewDecoder(resp.Body).Decode(&answer)
	return answer.Container, err == nil && resp.StatusCode == http.StatusOK
}

// heddle runs a command.
func (l *lab) heddle(verb string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b, err := binary()
	if err != nil {
		l.t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, b, append([]string{verb, "--conf", l.Conf()}, args...)...).CombinedOutput()
	return string(out), err
}

// suspend has a container stand still and waits until its node says that it does.
func (l *lab) suspend(name, id string, args ...string) {
	l.t.Helper()
	await.Slowly(l.t, "it is suspended", func() bool { // it may not run yet
		out, err := l.heddle("container", append([]string{"-suspend", id}, args...)...)
		return err == nil || strings.Contains(out, "already")
	})
	await.Slowly(l.t, "its node has it stand still", func() bool {
		s, known := l.onNode(name, id)
		return known && s.Level == s.WantedLevel && s.Level != "running"
	})
}

// running waits until node and ResourceManager agree that a container runs.
func (l *lab) running(name, id string) {
	l.t.Helper()
	var b box
	var s onNode
	defer func() {
		if l.t.Failed() {
			l.t.Logf("the ResourceManager says %+v, its node %+v", b, s)
		}
	}()
	await.Slowly(l.t, id+" runs", func() bool {
		var known, there bool
		b, known = l.box(id)
		s, there = l.onNode(name, id)
		return known && there && b.Level == "RUNNING" && b.State == "RUNNING" && s.Level == "running" && s.WantedLevel == "running"
	})
}

// frozen lists the groups of the lab that the kernel has frozen.
func (l *lab) frozen() []string {
	return slices.DeleteFunc(daemons.Groups(l.group), func(g string) bool { return !daemons.Frozen(g) })
}

// empty waits until nothing is left of any application, anywhere.
func (l *lab) empty() {
	l.t.Helper()
	var left []string
	defer func() {
		if l.t.Failed() {
			l.t.Logf("left: %s", strings.Join(left, "\n"))
		}
	}()
	await.Slowly(l.t, "nothing is left", func() bool {
		left = l.leftovers()
		return len(left) == 0
	})
}

func (l *lab) leftovers() (left []string) {
	add := func(format string, args ...any) { left = append(left, fmt.Sprintf(format, args...)) }
	if m, err := l.metrics(); err != nil {
		add("%v", err)
	} else if m.ContainersAllocated+m.ContainersReserved+m.ContainersPending != 0 || m.AllocatedMB != 0 || m.AvailableMB != m.TotalMB || m.ActiveNodes != len(l.nodes) {
		add("the ResourceManager counts %+v", m)
	}
	for _, name := range l.nodes {
		if n := l.node(name); n.State != "RUNNING" || n.NumContainers != 0 || n.UsedMemoryMB != 0 || n.UsedVirtualCores != 0 {
			add("it says of a node %+v", n)
		}
		var answer struct{ Containers struct{ Container []any } }
		resp, err := http.Get("http://" + l.Address(name, "yarn.nodemanager.webapp.address") + "/ws/v1/node/containers")
		if err == nil {
			err = json.NewDecoder(resp.Body).Decode(&answer)
			_ = resp.Body.Close() // all was read
		}
		if err != nil || len(answer.Containers.Container) > 0 {
			add("%s has containers %v (%v)", name, answer.Containers.Container, err)
		}
		files, err := filepath.Glob(filepath.Join(l.Home(name), "local", "usercache", "*", "appcache", "*"))
		more, err2 := filepath.Glob(filepath.Join(l.Home(name), "local", "nmPrivate", "application_*"))
		if err != nil || err2 != nil || len(files)+len(more) > 0 {
			add("files of %s: %q %q", name, files, more)
		}
	}
	var queues struct{ Scheduler struct{ SchedulerInfo any } }
	if err := l.get("/ws/v1/cluster/scheduler", &queues); err != nil {
		add("%v", err)
	}
	for _, used := range uses("root", queues.Scheduler.SchedulerInfo) {
		add("a queue has %s", used)
	}
	var suspended struct{ Containers struct{ Container []box } }
	if err := l.get("/ws/v1/heddle/containers?suspended=true&user.name=root", &suspended); err != nil || len(suspended.Containers.Container) > 0 {
		add("suspended: %+v (%v)", suspended.Containers.Container, err)
	}
	for _, p := range l.Strays() {
		add("process %v", p)
	}
	for _, g := range daemons.Groups(l.group) {
		add("group %s", g)
	}
	return left
}

// uses finds what queues and their users use or wait for, in what the ResourceManager says of queues.
func uses(at string, v any) (out []string) {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			out = append(out, uses(fmt.Sprintf("%s.%d", at, i), e)...)
		}
	case map[string]any:
		for k, e := range v {
			here := at + "." + k
			switch k {
			case "resourcesUsed", "used", "reserved", "pending", "usedResources", "AMResourceUsed", "amUsed":
				if r, ok := e.(map[string]any); ok {
					if r["memory"] != 0.0 || r["vCores"] != 0.0 {
						out = append(out, fmt.Sprintf("%s: %v", here, r))
					}
					continue
				}
			case "numContainers", "numApplications", "allocatedContainers", "pendingContainers", "reservedContainers":
				if n, ok := e.(float64); ok && n != 0 {
					out = append(out, fmt.Sprintf("%s: %v", here, n))
				}
				continue
			}
			out = append(out, uses(here, e)...)
		}
	}
	return out
}
