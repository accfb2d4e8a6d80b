package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/am/client"
	task "heddle/am/mapreduce/job"
	shared "heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/yarn/pb"
)

// binary is what the tests run.
var binary = sync.OnceValues(func() (string, error) {
	b, remove, err := hadooplab.BuildHeddle()
	cleanUp = remove
	return b, err
})

var cleanUp func() // what binary has made

func TestMain(m *testing.M) {
	if dir := os.Getenv(rememberVariable); dir != "" {
		remember(dir)
		return
	}
	if task := os.Getenv(readVariable); task != "" {
		os.Exit(readInput(task, os.Args[1]))
	}
	if os.Getenv(hogVariable) != "" {
		hog()
		return
	}
	code := m.Run()
	if cleanUp != nil {
		cleanUp()
	}
	os.Exit(code)
}

// cluster has ResourceManagers and NodeManagers that are processes.
type cluster struct {
	*daemons.Cluster
	t      testing.TB
	binary string
	dir    string
	conf   string
}

// startCluster starts a cluster of ours and waits until its nodes are known. There may be more nodes than begin with it: see node. They are on
// hosts, those that have none there on 127.0.0.1.
func startCluster(t testing.TB, rms, nms int, set map[string]string, hosts ...string) *cluster {
	t.Helper()
	return startNodes(t, rms, nms, set, nil, hosts...)
}

// startNodes is startCluster with settings of single nodes.
func startNodes(t testing.TB, rms, nms int, set map[string]string, own map[string]map[string]string, hosts ...string) *cluster {
	t.Helper()
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	all := max(nms, 3) // that may be started
	for len(hosts) < all {
		hosts = append(hosts, "127.0.0.1")
	}
	site := map[string]string{"yarn.resourcemanager.cluster-id": "jobs", "heddle.log.level": "info"}
	maps.Copy(site, set)
	c := &cluster{t: t, binary: b, dir: t.TempDir()}
	c.Cluster = shared.New(t, daemons.Options{
		Binary: b, Dir: c.dir, ResourceManagers: rms, NodeManagers: all, Direct: true, Hosts: hosts, Set: site, NodeSet: own,
	})
	c.conf = c.Conf()
	t.Cleanup(c.stop)
	for _, id := range c.ResourceManagers {
		c.start(id)
	}
	for i := range nms {
		c.node(i)
	}
	c.ready(nms)
	return c
}

// stop ends what runs: nodes take their leave of a ResourceManager.
func (c *cluster) stop() {
	c.t.Helper()
	shared.Stop(c.t, c.Cluster)
}

func (c *cluster) node(i int) { c.start(c.NodeManagers[i]) }

// start starts a daemon, perhaps again.
func (c *cluster) start(id string) {
	c.t.Helper()
	if err := c.Start(id); err != nil {
		c.t.Fatal(err)
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// applications is the view of who runs the tests.
func (c *cluster) applications() *client.Applications {
	c.t.Helper()
	return shared.Applications(c.t, c.Cluster)
}

func (c *cluster) ready(nodes int) {
	c.t.Helper()
	apps := c.applications()
	await.Slowly(c.t, "the nodes are running", func() bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Second)
		defer cancel()
		list, err := apps.NodeReports(ctx, pb.NodeState_NS_RUNNING)
		return err == nil && len(list) == nodes
	})
}

// leader returns the id of the ResourceManager that leads.
func (c *cluster) leader() string {
	c.t.Helper()
	id, err := c.Leader(c.t.Context(), "")
	if err != nil {
		c.t.Fatal(err)
	}
	return id
}

// job is a heddle mr that runs.
type job struct {
	c              *cluster
	cmd            *exec.Cmd
	stdout, stderr *output.Buffer
	done           chan error
}

func (c *cluster) mr(args ...string) *job {
	c.t.Helper()
	j := &job{c: c, stdout: &output.Buffer{}, stderr: &output.Buffer{}, done: make(chan error, 1)}
	j.cmd = exec.Command(c.binary, append([]string{"mr", "-conf", c.conf, "-json"}, args...)...)
	j.cmd.Dir = c.dir
	j.cmd.Stdout, j.cmd.Stderr = j.stdout, j.stderr
	j.cmd.SysProcAttr = attributes()
	if err := j.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	go func() { j.done <- j.cmd.Wait() }()
	return j
}

// report is what heddle mr -json prints.
type report struct {
	Application string
	State       string
	FinalStatus string
	Attempts    int
	Counters    map[string]map[string]int64
	Failures    []struct {
		Task, Host, Error string
		Stderr            []string
	}
	Tasks []task.Attempt
}

const (
	taskCounters = "org.apache.hadoop.mapreduce.TaskCounter"
	jobCounters  = "org.apache.hadoop.mapreduce.JobCounter"
)

// end waits for the job, which must succeed.
func (j *job) end() report {
	j.c.t.Helper()
	r, err := j.wait()
	if err != nil {
		j.c.t.Fatalf("%v\n%s", err, j.stderr)
	}
	return r
}

// patience is how long a job may take. It only passes where a test fails.
const patience = 5 * time.Minute

func (j *job) wait() (report, error) {
	j.c.t.Helper()
	var r report
	select {
	case err := <-j.done:
		if out := j.stdout.String(); out != "" {
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				j.c.t.Fatalf("%v: %s", err, out)
			}
		}
		return r, err
	case <-time.After(patience):
		j.cmd.Process.Kill()
		j.c.t.Fatalf("the job isn't over after %v:\n%s", patience, j.stderr)
		return r, nil
	}
}

func (j *job) until(text string) {
	j.c.t.Helper()
	await.Slowly(j.c.t, fmt.Sprintf("heddle mr writes %q", text), func() bool { return strings.Contains(j.stderr.String(), text) })
}

// processes returns the pids of processes whose command line has all of the texts.
func processes(texts ...string) []int {
	var out []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		b, err := os.ReadFile(d + "/cmdline")
		if err != nil {
			continue
		}
		cwd, _ := os.Readlink(d + "/cwd")
		all := strings.ReplaceAll(string(b), "\x00", " ") + " " + cwd
		found := len(b) > 0
		for _, t := range texts {
			found = found && strings.Contains(all, t)
		}
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(d), "%d", &pid); err == nil && found && pid != os.Getpid() {
			out = append(out, pid)
		}
	}
	return out
}

// output returns what a job has written, in the order of its parts.
func (c *cluster) output(dir string) string {
	c.t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "_SUCCESS")); err != nil {
		c.t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		c.t.Fatal(err)
	}
	var out strings.Builder
	for i, f := range files[1:] {
		if want := fmt.Sprintf("part-%05d", i); filepath.Base(f) != want {
			c.t.Errorf("%s instead of %s", f, want)
		}
		b, err := os.ReadFile(f)
		if err != nil {
			c.t.Fatal(err)
		}
		out.Write(b)
	}
	return out.String()
}

// numbered writes a file of one line for each of n map tasks (3 bytes), and returns their folder and all lines.
func (c *cluster) numbered(n int) (dir, lines string) {
	c.t.Helper()
	dir = filepath.Join(c.dir, "in")
	if err := os.Mkdir(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	for i := range n {
		line := fmt.Sprintf("%02d\n", i)
		lines += line
		if err := os.WriteFile(filepath.Join(dir, line[:2]), []byte(line), 0o644); err != nil {
			c.t.Fatal(err)
		}
	}
	return dir, lines
}
