package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/am/client"
	task "heddle/am/mapreduce/job"
	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/output"
	"heddle/internal/ports"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
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

// cluster consists of ResourceManagers and NodeManagers that are processes.
type cluster struct {
	t      testing.TB
	binary string
	dir    string
	conf   string
	run    map[string]*exec.Cmd
	args   map[string][]string
	hosts  []string          // of nodes; 127.0.0.1 for those that it doesn't have
	admin  map[string]string // addresses of the ResourceManagers' administration
}

// startCluster starts a cluster of ours and waits until its nodes are known.
func startCluster(t testing.TB, rms, nms int, set map[string]string, hosts ...string) *cluster {
	t.Helper()
	b, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, hosts: hosts, binary: b, dir: t.TempDir(), run: map[string]*exec.Cmd{}, args: map[string][]string{}, admin: map[string]string{}}
	c.conf = filepath.Join(c.dir, "conf")
	site := map[string]string{
		"hadoop.tmp.dir":                          filepath.Join(c.dir, "tmp"),
		"yarn.app.mapreduce.am.staging-dir":       filepath.Join(c.dir, "staging"),
		"yarn.resourcemanager.cluster-id":         "jobs",
		"yarn.resourcemanager.ha.enabled":         fmt.Sprint(rms > 1),
		"yarn.nodemanager.resource.memory-mb":     "8192",
		"yarn.nodemanager.delete.debug-delay-sec": "0",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
		"heddle.log.level":             "info",
		"heddle.container.run-as-root": "true", // where root runs the tests
	}
	var ids []string
	for i := range rms {
		id := fmt.Sprintf("rm%d", i+1)
		ids = append(ids, id)
		keys := []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"}
		free := ports.Loopback(t, len(keys)+1)
		for k, key := range keys {
			key = "yarn.resourcemanager." + key
			if rms > 1 {
				key += "." + id
			}
			site[key] = free[k]
			if strings.Contains(key, "admin") {
				c.admin[id] = free[k]
			}
		}
		site["heddle.raft.address."+id] = free[len(keys)]
	}
	if rms > 1 {
		site["yarn.resourcemanager.ha.rm-ids"] = strings.Join(ids, ",")
	}
	for k, v := range set {
		site[k] = v
	}
	c.write("yarn-site.xml", site)
	t.Cleanup(c.stop)
	for _, id := range ids {
		c.start(id, "rm", "--id", id)
	}
	for i := range nms {
		c.node(i)
	}
	c.ready(nms)
	return c
}

func (c *cluster) node(i int, more ...string) {
	id := fmt.Sprintf("nm%d", i+1)
	free := ports.Loopback(c.t, 3)
	if i < len(c.hosts) {
		for k, a := range free {
			free[k] = strings.Replace(a, "127.0.0.1", c.hosts[i], 1)
		}
	}
	c.start(id, "nm", append(more,
		"-D", "yarn.nodemanager.address="+free[0], "-D", "yarn.nodemanager.localizer.address="+free[1],
		"-D", "yarn.nodemanager.webapp.address="+free[2], "-D", "yarn.nodemanager.local-dirs="+filepath.Join(c.dir, id, "local"),
		"-D", "yarn.nodemanager.log-dirs="+filepath.Join(c.dir, id, "log"))...)
}

func (c *cluster) write(name string, site map[string]string) {
	c.t.Helper()
	var b bytes.Buffer
	b.WriteString("<configuration>\n")
	for k, v := range site {
		fmt.Fprintf(&b, "<property><name>%s</name><value>", k)
		xml.EscapeText(&b, []byte(v)) // never fails
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	if err := os.MkdirAll(c.conf, 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.conf, name), b.Bytes(), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) start(id, role string, args ...string) {
	c.t.Helper()
	c.args[id] = append([]string{role}, args...)
	log, err := os.OpenFile(filepath.Join(c.dir, id+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		c.t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(c.binary, append([]string{role, "--conf", c.conf}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.run[id] = cmd
}

func (c *cluster) kill(id string) {
	cmd := c.run[id]
	delete(c.run, id)
	cmd.Process.Kill()
	cmd.Wait()
}

// again starts what was killed.
func (c *cluster) again(id string) { c.start(id, c.args[id][0], c.args[id][1:]...) }

func (c *cluster) stop() {
	for _, role := range []string{"nm", "rm"} { // nodes take their leave of a ResourceManager
		var wg sync.WaitGroup
		for id, cmd := range c.run {
			if strings.HasPrefix(id, role) {
				cmd.Process.Signal(syscall.SIGTERM)
				wg.Go(func() {
					timer := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
					cmd.Wait()
					timer.Stop()
				})
			}
		}
		wg.Wait()
	}
	if c.t.Failed() {
		for _, log := range must(filepath.Glob(filepath.Join(c.dir, "*.log"))) {
			b, _ := os.ReadFile(log)
			c.t.Logf("%s:\n%s", log, b[max(0, len(b)-6000):])
		}
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
	cfg, err := conf.Load(conf.Options{Dir: c.conf})
	if err != nil {
		c.t.Fatal(err)
	}
	cl, err := client.NewCluster(cfg, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cl.Close)
	apps, err := cl.Applications("")
	if err != nil {
		c.t.Fatal(err)
	}
	return apps
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
	cl := ipc.NewClient(ipc.ClientConfig{})
	defer cl.Close()
	leads := func(addr string) bool {
		ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
		defer cancel()
		s, err := protocol.GetServiceStatus.Call(ctx, cl.Endpoint(addr, protocol.HAService, ipc.Identity{User: "root"}), &pb.GetServiceStatusRequest{})
		return err == nil && s.GetState() == pb.HAServiceState_ACTIVE
	}
	return await.Value(c.t, "a ResourceManager leads", func() (string, bool) {
		for id := range c.run {
			if addr, ok := c.admin[id]; ok && leads(addr) {
				return id, true
			}
		}
		return "", false
	})
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
