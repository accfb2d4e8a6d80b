package spark

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/rm/receipt"
)

// heldUp is how long a cause holds a job up at least.
const heldUp = 60 * time.Second

// quickJVM is for containers: a JVM that compiles little starts with half of the work.
const quickJVM = "JAVA_TOOL_OPTIONS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"

// bill is what REST tells of an application's time.
type bill struct {
	State   string
	TotalMS int64

	ContainersLive int
	Part           []struct {
		Kind   receipt.Kind
		Detail string
		MS     int64
	}
	Step []struct {
		Kind        receipt.Kind
		From, To    int64
		ContainerID string
	}
}

// of is how long the parts of some kinds are together.
func (b *bill) of(kinds ...receipt.Kind) time.Duration {
	ms := int64(0)
	for _, p := range b.Part {
		if slices.Contains(kinds, p.Kind) {
			ms += p.MS
		}
	}
	return time.Duration(ms) * time.Millisecond
}

// billed is a lab whose jobs get receipts.
type billed struct {
	*hadooplab.Lab
	starts chan struct{} // has room for as many jobs as may start at a time
	mu     sync.Mutex
	rows   []row
}

func newBilled(t *testing.T, o hadooplab.Options) *billed {
	t.Helper()
	return &billed{Lab: hadooplab.Start(t, o), starts: make(chan struct{}, 2)}
}

// inTurn does what starts JVMs. If many start at a time, each takes longer than what holds the job up.
func (l *billed) inTurn(do func()) {
	l.starts <- struct{}{}
	defer func() { <-l.starts }()
	do()
}

// row is what a receipt says of a job that was held up.
type row struct {
	cause string
	job   *begun
	bill  bill
	named bool
}

// receipt asks for a job's receipt. Its steps must follow each other, and its parts sum to its time.
func (l *billed) receipt(t *testing.T, app string) bill {
	t.Helper()
	var answer struct{ Receipt bill }
	if err := l.Get(t.Context(), "rm-http", "/ws/v1/heddle/apps/"+app+"/receipt", &answer); err != nil {
		t.Fatal(err)
	}
	b, sum := answer.Receipt, int64(0)
	for _, p := range b.Part {
		sum += p.MS
	}
	for i, s := range b.Step {
		if i > 0 && s.From != b.Step[i-1].To {
			t.Errorf("%s: a gap before step %d: %+v", app, i, b)
		}
	}
	if sum != b.TotalMS {
		t.Errorf("the parts of %s sum to %d of %d ms", app, sum, b.TotalMS)
	}
	return b
}

// held waits until parts of some kinds hold a job up: for as long as heldUp, and for twice as long as any other part.
func (l *billed) held(t *testing.T, j *begun, kinds ...receipt.Kind) {
	t.Helper()
	var b bill
	defer func() {
		if b.of(kinds...) < heldUp {
			t.Logf("%s %s: %+v\n%s", j.framework, j.app, b.Part, j.command.Stderr())
		}
	}()
	await.Slowly(t, fmt.Sprint(j.framework, " ", j.app, " is held up by ", kinds), func() bool {
		b = l.receipt(t, j.app)
		most := time.Duration(0)
		for _, p := range b.Part {
			if !slices.Contains(kinds, p.Kind) {
				most = max(most, time.Duration(p.MS)*time.Millisecond)
			}
		}
		return b.of(kinds...) >= max(heldUp, 2*most) || j.command.Ended()
	})
}

// task is what the tasks of a job run: they wait for a file and count then, which takes a second of a processor for half a million.
type task struct{ script, gate string }

func newTask(t *testing.T, count int) *task {
	t.Helper()
	dir := t.TempDir()
	x := &task{filepath.Join(dir, "task.sh"), filepath.Join(dir, "gate")}
	text := fmt.Sprintf("while [ ! -e %s ]; do sleep 2; done\ni=0; while [ $i -lt %d ]; do i=$((i+1)); done\n", x.gate, count)
	if err := os.WriteFile(x.script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return x
}

func (x *task) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(x.gate, nil, 0o644); err != nil {
		t.Error(err)
	}
}

var containerDir = regexp.MustCompile(`container_[0-9a-z_]*\d+_\d+_\d+_\d+`)

// running are the containers of each script, as they were a second ago at most: looking at all processes takes a while.
var running struct {
	sync.Mutex
	at time.Time
	of map[string][]string
}

// containers are those in which the task runs, in order.
func (x *task) containers() []string {
	running.Lock()
	defer running.Unlock()
	if time.Since(running.at) > time.Second {
		running.of = scripts()
		running.at = time.Now()
	}
	return running.of[x.script]
}

// scripts looks for processes of sh in containers, and returns these by the script that they run.
func scripts() map[string][]string {
	all := map[string][]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, d := range dirs {
		text, _ := os.ReadFile(filepath.Join(d, "cmdline")) // it may have ended
		args := strings.Split(string(text), "\x00")
		if len(args) < 2 || filepath.Base(args[0]) != "sh" {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(d, "cwd"))
		if id := containerDir.FindString(cwd); id != "" && !slices.Contains(all[args[1]], id) {
			all[args[1]] = append(all[args[1]], id)
		}
	}
	for _, ids := range all {
		slices.Sort(ids)
	}
	return all
}

// begun is a job that was submitted.
type begun struct {
	framework string
	command   *hadooplab.Command
	task      *task
	app       string
}

// container is the prefix of the job's containers of an attempt.
func (j *begun) container(attempt int) string {
	return fmt.Sprintf("container_%s_%02d_", strings.TrimPrefix(j.app, "application_"), attempt)
}

// submission is a job to be submitted.
type submission struct {
	framework, queue string
	tasks, count     int    // tasks, and how far each counts
	memory           string // of a task, in MB
	file             string // in HDFS, which containers localize; "": none
	dynamic          bool   // Spark has an executor of that memory for each task, and gives those back that have nothing to do
}

var anyApp = regexp.MustCompile(`application_\d+_\d+`)

// begin submits a job, and returns when its id is known.
func (l *billed) begin(t *testing.T, o submission) *begun {
	t.Helper()
	j := &begun{framework: o.framework, task: newTask(t, o.count)}
	j.command = l.launch(t, o, "sh "+j.task.script)
	await.Slowly(t, o.framework+" is submitted", func() bool {
		text := j.command.Stderr()
		if i := strings.Index(text, "Submitted application"); i >= 0 {
			j.app = anyApp.FindString(text[i:])
		} else if o.framework == "heddle mr" {
			j.app = anyApp.FindString(text)
		}
		return j.app != "" || j.command.Ended()
	})
	if j.app == "" {
		t.Fatalf("%s: %s", o.framework, j.command.Stderr())
	}
	return j
}

const runsScript = `
import subprocess, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("task").getOrCreate()
command, n = sys.argv[1].split(), int(sys.argv[2])
print(spark.sparkContext.parallelize(range(n), n).map(lambda _: subprocess.call(command, stdin=subprocess.DEVNULL)).collect())
spark.stop()
`

// launch starts the command that submits a job whose tasks run a script.
func (l *billed) launch(t *testing.T, o submission, script string) *hadooplab.Command {
	t.Helper()
	in, out := fmt.Sprint("/in/", o.tasks), fmt.Sprint("/out/", time.Now().UnixNano())
	var c *hadooplab.Command
	var err error
	switch o.framework {
	case "MapReduce":
		args := []string{"hadoop", "jar", l.jar(t, "hadoop-streaming"), "-Dmapreduce.job.queuename=" + o.queue, "-Dyarn.app.mapreduce.am.resource.mb=384", "-Dmapreduce.map.speculative=false", "-Dmapreduce.map.memory.mb=" + o.memory}
		if o.file != "" {
			args = append(args, "-files", l.URI()+o.file)
		}
		c, err = l.Begin("", append(args, "-inputformat", "org.apache.hadoop.mapred.lib.NLineInputFormat", "-input", in, "-output", out, "-mapper", script, "-numReduceTasks", "0")...)
	case "heddle mr":
		args := []string{
			"mr", "--conf", l.Conf(), "-D", "mapreduce.job.queuename=" + o.queue, "-D", "mapreduce.input.fileinputformat.split.maxsize=3", "-D", "yarn.app.mapreduce.am.resource.mb=256", "-D", "mapreduce.map.speculative=false",
			"-D", "mapreduce.map.memory.mb=" + o.memory, "-input", in, "-output", out, "-mapper", script + "; cat", "-numReduceTasks", "0",
		}
		if o.file != "" {
			args = append(args, "-files", l.URI()+o.file)
		}
		c, err = l.BeginCommand(exec.Command(options.Heddle, args...))
	case "distributed shell":
		jar := l.jar(t, "hadoop-yarn-applications-distributedshell")
		args := []string{
			"class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", jar, "-queue", o.queue, "-master_memory", "256", "-container_memory", o.memory,
			"-num_containers", fmt.Sprint(o.tasks), "-shell_command", script,
		}
		if o.file != "" {
			args = append(args, "-localize_files", padding(t, 2*coldBytes))
		}
		c, err = l.Begin("", args...)
	default:
		args := []string{"--deploy-mode", "cluster", "--queue", o.queue, "--conf", "spark.yarn.am.waitTime=600s"} // a busy machine takes longer than 100 s
		if o.file != "" {
			args = append(args, "--files", l.URI()+o.file)
		}
		if o.dynamic {
			args = append(args, dynamic(t, o)...)
		}
		cmd := command(t, l.Lab, "spark-submit", append(args, program(t, runsScript), script, fmt.Sprint(o.tasks))...)
		cmd.Env = append(cmd.Env, "SPARK_SUBMIT_OPTS=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
		c, err = l.BeginCommand(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	c.EndWith(t)
	return c
}

// overhead is what Spark adds to the memory of an executor's JVM, in MB.
const overhead = 384

// dynamic are the arguments with which Spark has as many executors as tasks. An executor that runs slowly isn't lost.
func dynamic(t *testing.T, o submission) (args []string) {
	t.Helper()
	mb, err := strconv.Atoi(o.memory)
	if err != nil {
		t.Fatal(err)
	}
	args = []string{"--executor-cores", "1", "--executor-memory", fmt.Sprint(mb-overhead, "m")}
	for _, set := range []string{
		"spark.dynamicAllocation.enabled=true", "spark.dynamicAllocation.shuffleTracking.enabled=true", "spark.dynamicAllocation.executorIdleTimeout=10s",
		fmt.Sprint("spark.dynamicAllocation.initialExecutors=", o.tasks), fmt.Sprint("spark.dynamicAllocation.maxExecutors=", o.tasks),
		"spark.network.timeout=900s", "spark.executor.heartbeatInterval=60s",
	} {
		args = append(args, "--conf", set)
	}
	return args
}

func (l *billed) jar(t *testing.T, name string) string {
	t.Helper()
	path, err := l.Jar(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// padding is a local file of so many bytes.
func padding(t *testing.T, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprint(time.Now().UnixNano(), ".bin"))
	if err := os.WriteFile(path, make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// ends waits for the ends of jobs.
func (l *billed) ends(t *testing.T, jobs []*begun, cause string, kinds ...receipt.Kind) {
	t.Helper()
	var all sync.WaitGroup
	for _, j := range jobs {
		all.Go(func() { l.end(t, j, cause, kinds...) })
	}
	all.Wait()
}

// end waits for the end of a job, and judges its receipt.
func (l *billed) end(t *testing.T, j *begun, cause string, kinds ...receipt.Kind) {
	t.Helper()
	r, err := j.command.Wait(t.Context())
	if err != nil || r.Code != 0 {
		t.Errorf("%s %s: exit code %d, %v: %s", j.framework, j.app, r.Code, err, r.Stderr)
	}
	var b bill
	await.Slowly(t, j.app+" has ended with all of its containers", func() bool {
		b = l.receipt(t, j.app)
		return b.ContainersLive == 0 && (b.State == "FINISHED" || b.State == "FAILED" || b.State == "KILLED")
	})
	var yarn struct {
		App struct{ StartedTime, FinishedTime int64 }
	}
	if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/apps/"+j.app, &yarn); err != nil {
		t.Fatal(err)
	}
	took := yarn.App.FinishedTime - yarn.App.StartedTime
	if 20*max(took-b.TotalMS, b.TotalMS-took) > took || b.State != "FINISHED" {
		t.Errorf("%s of %s is %s, took %d ms, and its receipt is of %d ms", j.app, j.framework, b.State, took, b.TotalMS)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	done := row{cause, j, b, slices.Contains(kinds, b.Part[0].Kind)}
	l.rows = append(l.rows, done)
	t.Log(done) // a run that is cut off has told so much
}

func (r row) String() string {
	parts := ""
	for _, p := range r.bill.Part[:min(4, len(r.bill.Part))] {
		parts += fmt.Sprintf("  %s %s %.1f s", p.Kind, p.Detail, float64(p.MS)/1000)
	}
	return fmt.Sprintf("%-22s %-18s %5.1f s, named %v:%s", r.cause, r.job.framework, float64(r.bill.TotalMS)/1000, r.named, parts)
}

// print logs a line for each job, and returns how many receipts name the cause.
func (l *billed) print(t *testing.T) (named int) {
	for _, r := range l.rows {
		t.Log(r)
		if r.named {
			named++
		}
	}
	return named
}
