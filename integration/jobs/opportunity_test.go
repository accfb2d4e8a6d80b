package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
)

// opportunity is a cluster of two nodes, each with a container of a long job and room for two short tasks, of which many wait.
type opportunity struct {
	*cluster
	job   *job
	short *xargs
	tasks int
	long  []longTask
	out   string
	begun string // a folder with a file for each run of a long task
}

type longTask struct{ container, port string }

// Containers of a long job are suspended for short tasks that wait on their nodes, and more of these run meanwhile. Then they go on, also if the leading
// ResourceManager or their NodeManager was killed. Each task has one result, no room is given twice, and nothing is left.
func TestLongTasksAreSuspendedForShortOnes(t *testing.T) {
	hadooplab.SkipUnlessFull(t) // it waits for windows of a minute, and suspensions last 100 s
	swapfile.On(t, 2<<30)
	nmtest.RealGroups(t)
	for name, harm := range map[string]func(o *opportunity){
		"nothing": func(*opportunity) {},
		"leader":  func(o *opportunity) { o.Kill(o.leader()) },
		"node": func(o *opportunity) {
			o.Kill("nm1")
			o.start("nm1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait, mostly
			o := startOpportunity(t)
			o.areSuspended()
			o.isShown()
			o.isNotResumed()
			harm(o)
			o.goOn()
			o.end()
		})
	}
}

func startOpportunity(t *testing.T) *opportunity {
	o := &opportunity{tasks: 3000}
	o.cluster = startCluster(t, 3, 2, map[string]string{
		"yarn.nodemanager.resource.memory-mb":         "4096",
		"yarn.scheduler.minimum-allocation-mb":        "256",
		"yarn.scheduler.capacity.resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		"heddle.probes.memory-mb":                     "1024",
		"heddle.probes.vcores":                        "2",
		"heddle.scheduler.partition.cutoff-ms":        "60000",
		"heddle.scheduler.partition.rules":            "dice",
		"heddle.scheduler.partition.max-percent":      "99",
		"heddle.scheduler.partition.max-wait-ms":      "100",
		"heddle.scheduler.partition.multiplier":       "1000",
	})
	o.pagesOut()
	o.begun = filepath.Join(o.dir, "begun")
	if err := os.Mkdir(o.begun, 0o755); err != nil {
		t.Fatal(err)
	}
	in, _ := o.numbered(2)
	o.out = filepath.Join(o.dir, "out")
	o.job = o.mr("-input", in, "-output", o.out, "-reducer", "cat",
		"-mapper", "echo $CONTAINER_ID $NM_PORT > $(mktemp "+o.begun+"/XXXXXX); while ! test -e "+o.dir+"/end; do sleep 0.05; done; cat",
		"-D", "mapreduce.input.fileinputformat.split.maxsize=3", "-D", "mapreduce.map.memory.mb=2048", "-D", "mapreduce.map.cpu.vcores=2",
		"-D", "mapreduce.job.reduce.slowstart.completedmaps=1", "-D", "mapreduce.reduce.memory.mb=512", "-D", "yarn.app.mapreduce.am.resource.mb=512")
	await.Slowly(t, "a long task runs on each node", func() bool {
		o.long = nil
		for _, f := range must(filepath.Glob(o.begun + "/*")) {
			if b := strings.Fields(string(must(os.ReadFile(f)))); len(b) == 2 {
				o.long = append(o.long, longTask{b[0], b[1]})
			}
		}
		return len(o.long) == 2 && o.long[0].port != o.long[1].port
	})
	// A task takes a second until the test has seen enough.
	o.short = o.xargs("--probes", "-P", "16", "-I{}", "sh", "-c",
		`i=0; while ! test -e `+o.dir+`/quick && test $i -lt 20; do sleep 0.05; i=$((i+1)); done; echo {}`)
	o.short.feed(0, o.tasks)
	return o
}

// says is what a command of heddle prints.
func (o *opportunity) says(args ...string) (string, error) {
	out, err := exec.Command(o.binary, append([]string{args[0], "--conf", o.conf}, args[1:]...)...).CombinedOutput()
	return string(out), err
}

// suspended reports whether the ResourceManager has a long task suspended.
func (o *opportunity) suspended(l longTask) bool {
	o.t.Helper()
	said := await.Value(o.t, "the suspended containers are listed", func() (string, bool) {
		said, err := o.says("container", "-listSuspended")
		return said, err == nil
	})
	return strings.Contains(said, l.container)
}

// running counts the short tasks that run on a node at one moment: those that it finds twice, as others begin and end while it looks.
func (o *opportunity) running(port string) (n int) {
	first := o.found(port)
	for dir, parent := range o.found(port) {
		if _, shell := first[parent]; !shell && first[dir] != "" { // a shell that has forked for a command has the same arguments for a moment
			n++
		}
	}
	return n
}

// found are the folders of short tasks' shells in /proc, and their parents'.
func (o *opportunity) found(port string) map[string]string {
	found := map[string]string{}
	for _, dir := range must(filepath.Glob("/proc/[0-9]*")) {
		args, _ := os.ReadFile(dir + "/cmdline")
		if !strings.HasPrefix(string(args), "sh\x00-c\x00") || !strings.Contains(string(args), o.dir+"/quick") {
			continue
		}
		if env, _ := os.ReadFile(dir + "/environ"); strings.Contains(string(env), "NM_PORT="+port+"\x00") {
			stat, _ := os.ReadFile(dir + "/stat")
			if f := strings.Fields(string(stat)); len(f) > 3 { // the name has no blanks
				found[dir] = "/proc/" + f[3]
			}
		}
	}
	return found
}

// frozen reports whether a long task stands still in its cgroup.
func (o *opportunity) frozen(l longTask) bool {
	for _, dir := range hadooplab.Groups(o.t, l.container) {
		v1, _ := os.ReadFile(dir + "/freezer.state")
		v2, _ := os.ReadFile(dir + "/cgroup.events")
		if strings.HasPrefix(string(v1), "FROZEN") || strings.Contains(string(v2), "frozen 1") {
			return true
		}
	}
	return false
}

// look asserts that short tasks have no more of a node than is theirs, and returns how many run there.
func (o *opportunity) look(l longTask) int {
	o.t.Helper()
	before := o.suspended(l)
	n := o.running(l.port)
	if suspended := before || o.suspended(l); n > 2 && !suspended || n > 4 {
		o.t.Errorf("%d short tasks run on the node at port %s, where %s is suspended: %v", n, l.port, l.container, suspended)
	}
	return n
}

func (o *opportunity) areSuspended() {
	o.t.Helper()
	for _, l := range o.long {
		await.Slowly(o.t, "a long task stands still, and four short ones run on its node", func() bool { return o.look(l) == 4 && o.frozen(l) })
	}
}

// isShown asserts that people learn for whom a container is suspended.
func (o *opportunity) isShown() {
	o.t.Helper()
	app := o.job.application()
	for _, args := range [][]string{{"container", "-listSuspended"}, {"app", "-status", app}, {"app", "-why", app}} {
		said, err := o.says(args...)
		o.t.Logf("%v: %s", args, said)
		if err != nil || !strings.Contains(said, "short tasks") {
			o.t.Errorf("%v doesn't say for whom: %v\n%s", args, err, said)
		}
	}
}

// isNotResumed asserts that nobody can have a container resume in the room that is lent.
func (o *opportunity) isNotResumed() {
	o.t.Helper()
	said, err := o.says("container", "-resume", o.long[0].container)
	o.t.Log(said)
	if err == nil || !strings.Contains(said, "short tasks") {
		o.t.Errorf("it may resume: %v\n%s", err, said)
	}
}

func (o *opportunity) goOn() {
	o.t.Helper()
	for _, l := range o.long {
		await.Slowly(o.t, "a long task goes on", func() bool {
			o.look(l)
			return !o.suspended(l)
		})
		await.Slowly(o.t, "a long task isn't frozen", func() bool { return !o.frozen(l) })
	}
	began := time.Now()
	for time.Since(began) < 20*time.Second { // nothing is to happen
		for _, l := range o.long {
			o.look(l)
		}
	}
}

func (o *opportunity) end() {
	o.t.Helper()
	for _, name := range []string{"quick", "end"} {
		if err := os.WriteFile(filepath.Join(o.dir, name), nil, 0o644); err != nil {
			o.t.Fatal(err)
		}
	}
	o.short.eachOnce(o.tasks)
	if r := o.job.end(); r.FinalStatus != "SUCCEEDED" || r.Attempts != 1 || len(r.Failures) != 0 {
		o.t.Errorf("%+v", r)
	}
	if got := o.output(o.out); got != "00\n01\n" {
		o.t.Errorf("the long job wrote %q", got)
	}
	if n := len(must(filepath.Glob(o.begun + "/*"))); n != 2 {
		o.t.Errorf("%d long tasks were begun instead of 2", n)
	}
	for _, l := range o.long {
		await.Until(o.t, fmt.Sprint("nothing is left of ", l.container), func() bool { return len(hadooplab.Groups(o.t, l.container)) == 0 })
	}
	o.nothingIsLeft()
}
