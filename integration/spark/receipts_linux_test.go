package spark

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/rm/receipt"
)

// frameworks are those of eight jobs that one cause holds up. One is Spark's, which takes most of a processor to begin.
var frameworks = []string{"MapReduce", "MapReduce", "heddle mr", "heddle mr", "heddle mr", "distributed shell", "distributed shell", "Spark"}

// each does something for all jobs, so many at a time.
func each(most int, jobs []submission, do func(o submission)) {
	var all sync.WaitGroup
	room := make(chan struct{}, most)
	for _, o := range jobs {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			do(o)
		})
	}
	all.Wait()
}

// eight are jobs of all frameworks, of a task each.
func eight(queue string) (all []submission) {
	for _, f := range frameworks {
		all = append(all, submission{framework: f, queue: queue, tasks: 1, memory: "256"})
	}
	return all
}

// fullQueueAndColdFiles has eight jobs wait for a queue that another one fills. Meanwhile eight jobs elsewhere localize files slowly.
func (l *billed) fullQueueAndColdFiles(t *testing.T) {
	h := &begun{framework: "distributed shell", task: newTask(t, 0)}
	h.command = l.launch(t, submission{framework: h.framework, queue: "tight", tasks: 3, memory: "2304"}, "sh "+h.task.script)
	await.Slowly(t, "the queue is full", func() bool { return len(h.task.containers()) == 3 })
	var mu sync.Mutex
	var waiting []*begun
	each(2, eight("tight"), func(o submission) {
		j := l.begin(t, o)
		j.task.open(t)
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, j)
	})
	l.coldFiles(t)
	for _, j := range waiting {
		l.held(t, j, receipt.AwaitsMaster)
	}
	h.task.open(t)
	l.ends(t, waiting, "a full queue", receipt.AwaitsMaster, receipt.Awaits)
}

const (
	coldBytes = 18 << 20
	coldRate  = 1 << 20 // bytes that a DataNode gives a second
)

// coldFiles has each job localize a large file of its own from a DataNode that gives little of it a second. Few run at a time: the JVMs of all, which
// start when the files are there, would take longer than the files.
func (l *billed) coldFiles(t *testing.T) {
	jobs := eight("default")
	for i := range jobs {
		jobs[i].file = fmt.Sprint("/cold/", i)
	}
	l.readsAt(t, coldRate)
	defer l.readsAt(t, 0)
	each(3, jobs, func(o submission) {
		j := l.begin(t, o)
		j.task.open(t)
		l.end(t, j, "cold localization", receipt.Localizing)
	})
}

// putInput writes the lines that jobs read, one for each task, and the large files, with one start of a JVM.
func (l *billed) putInput(t *testing.T) {
	t.Helper()
	files := map[string][]byte{"in/1/lines": []byte("00\n")}
	for i := range frameworks {
		files[fmt.Sprint("cold/", i)] = make([]byte, coldBytes)
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Run(t.Context(), "hdfs", "dfs", "-put", filepath.Join(dir, "in"), filepath.Join(dir, "cold"), "/"); err != nil {
		t.Fatal(err)
	}
}

// readsAt restarts the DataNode so that it gives so many bytes a second; 0: as many as it can.
func (l *billed) readsAt(t *testing.T, rate int) {
	t.Helper()
	file := filepath.Join(l.Conf(), "hdfs-site.xml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const key = "<property><name>dfs.datanode.data.read.bandwidthPerSec</name><value>"
	before, _, _ := strings.Cut(string(text), key)
	before = strings.TrimSuffix(before, "</configuration>")
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s%s%d</value></property></configuration>", before, key, rate), 0o644); err != nil {
		t.Fatal(err)
	}
	d := l.Daemon("datanode1")
	if err := d.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := d.WaitLog(t.Context(), hadooplab.Registered); err != nil {
		t.Fatal(err)
	}
}

// suspendedAndKilled has 16 jobs wait, eight for a suspended container, and eight whose first attempt is killed.
func (l *billed) suspendedAndKilled(t *testing.T) {
	var both sync.WaitGroup
	both.Go(func() { l.suspended(t) })
	both.Go(func() { l.killed(t) })
	both.Wait()
}

func (l *billed) suspended(t *testing.T) {
	each(8, eight("default"), func(o submission) {
		j := l.runs(t, o)
		id := j.task.containers()[0]
		for _, what := range []string{"-suspend", "-resume"} {
			if out, err := exec.Command(options.Heddle, "container", "--conf", l.Conf(), what, id).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if what == "-suspend" {
				l.held(t, j, receipt.Suspended)
			}
		}
		j.task.open(t)
		l.end(t, j, "a suspended container", receipt.Suspended)
	})
}

func (l *billed) killed(t *testing.T) {
	each(8, eight("default"), func(o submission) {
		j := l.runs(t, o)
		await.Slowly(t, "a task has run for a while", func() bool {
			b := l.receipt(t, j.app)
			return b.of(receipt.Work) > heldUp/2
		})
		l.inTurn(func() {
			kill(j.container(1) + "000001")
			await.Slowly(t, "the second attempt runs", func() bool {
				return slices.ContainsFunc(j.task.containers(), func(id string) bool { return strings.HasPrefix(id, j.container(2)) })
			})
		})
		j.task.open(t)
		l.end(t, j, "a killed attempt", receipt.FailedBefore)
	})
}

// runs submits a job, and returns when all of its tasks run.
func (l *billed) runs(t *testing.T, o submission) (j *begun) {
	t.Helper()
	l.inTurn(func() {
		j = l.begin(t, o)
		await.Slowly(t, fmt.Sprint(o.framework, " ", j.app, " runs its tasks"), func() bool { return len(j.task.containers()) == o.tasks })
	})
	return j
}

// kill kills the processes of a container.
func kill(container string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, d := range dirs {
		var pid int
		_, _ = fmt.Sscan(filepath.Base(d), &pid)
		if cwd, err := os.Readlink(filepath.Join(d, "cwd")); err == nil && strings.HasSuffix(cwd, container) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
}

// Of 32 jobs of MapReduce, Spark, heddle mr and distributed shell that are held up each for one reason of four, the largest part of at least 31 receipts is that reason, and each receipt's parts sum to the
// job's time.
func TestReceiptsOfFourFrameworks(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	const queue = "yarn.scheduler.capacity.root."
	o := options
	o.NodeManagers, o.Site = 3, map[string]string{
		"yarn.nodemanager.resource.memory-mb": "6144", "yarn.nodemanager.resource.cpu-vcores": "64", "yarn.scheduler.minimum-allocation-mb": "128",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.9", queue + "queues": "default,tight", queue + "default.capacity": "60", queue + "tight.capacity": "40",
		queue + "tight.maximum-capacity": "40", queue + "default.maximum-capacity": "100",
		"yarn.nodemanager.admin-env": quickJVM,
	}
	l := newBilled(t, o)
	l.putInput(t)
	for _, c := range []struct {
		name   string
		inject func(*testing.T)
	}{{"full queue and cold localization", l.fullQueueAndColdFiles}, {"suspended and killed", l.suspendedAndKilled}} {
		t.Run(c.name, c.inject)
	}
	if named := l.print(t); len(l.rows) != 32 || named < 31 {
		t.Errorf("%d of %d receipts name the cause", named, len(l.rows))
	}
}
