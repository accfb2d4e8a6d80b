package jobs

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/am"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/records"
)

// The hosts of two nodes, of which a test makes one slow.
const quickHost, slowHost = "127.0.0.1", "127.0.0.2"

// spare is what a node has beside its slots, in MB, for ApplicationMasters of 128 MB: as much that the queue has room for a task when two of them run, and no node has. Otherwise
// the second one would wait behind the first job's tasks.
const spare = 384

// computes returns a mapper that works for each line, and marks when it begins.
func computes(t *testing.T, steps int) (mapper string, begun func() int) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "task")
	text := fmt.Sprintf(": > %s/begun.$mapreduce_task_attempt_id\nwhile read -r l; do i=0; while [ $i -lt %d ]; do i=$((i+1)); done; echo \"$l\"; done\n", dir, steps)
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return "bash " + script, func() int { return len(must(filepath.Glob(filepath.Join(dir, "begun.*")))) }
}

// maps begins a job of maps of 512 MB, each of which reads some lines.
func (c *cluster) maps(in, out, mapper string, lines int, more ...string) *job {
	return c.mr(append([]string{
		"-input", in, "-output", out, "-mapper", mapper, "-numReduceTasks", "0", "-D", "mapreduce.map.memory.mb=512", "-D", "yarn.app.mapreduce.am.resource.mb=128",
		"-D", fmt.Sprint("mapreduce.input.fileinputformat.split.maxsize=", lines*1008),
	}, more...)...)
}

var progress = regexp.MustCompile(`the application has (\d\.\d\d) of the progress that it could make alone`)

// tasksOf returns how many containers an application has beside its ApplicationMaster's.
func (c *cluster) tasksOf(app string) int {
	c.t.Helper()
	r := must(c.applications().Report(c.t.Context(), must(records.ParseApplicationID(app))))
	return int(r.PB.GetAppResource_Usage().GetNumUsedContainers()) - 1
}

// A node is throttled to a quarter of another one. Eunomia learns that from the tasks of heddle mr, gives slots by progress as they become free, and says so: an application
// that can use the slow node only gets all of it beside two that can use both, which by numbers of tasks would be more than its part; and one that says that it can use the
// quick node only gains nothing by that. By numbers of tasks (TSF) it is the other way round.
func TestProgressFollowsTheSpeedsOfThrottledNodes(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const slots, lines, few = 4, 4, 80 // slots of a node
	c := startPolicies(t, map[string]string{defaultQueue + "ordering-policy": "eunomia", "yarn.nodemanager.resource.memory-mb": fmt.Sprint(slots*512 + spare)}, quickHost, slowHost)
	for node, ms := range map[string]int{"nm1": 600, "nm2": 150} {
		c.throttle(node, ms)
		t.Cleanup(func() { c.throttle(node, 0) })
	}
	in, want := c.input(2000, lines, 3)
	mapper, _ := computes(t, 3000)
	first, out := filepath.Join(c.dir, "first"), filepath.Join(c.dir, "out")
	if err := os.Mkdir(first, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range few {
		name := fmt.Sprintf("%03d", i)
		if err := os.Link(filepath.Join(in, name), filepath.Join(first, name)); err != nil {
			t.Fatal(err)
		}
	}
	r := c.maps(first, out, mapper, lines).end()
	if got := c.output(out); got != want[:few*lines*1008] {
		t.Errorf("%d bytes of output instead of %d", len(got), few*lines*1008)
	}
	var took, tasks [2]float64
	for _, a := range r.Tasks {
		i := 0
		if a.Host == slowHost {
			i = 1
		}
		took[i], tasks[i] = took[i]+a.Ended-a.Begun, tasks[i]+1
	}
	ratio := took[1] / tasks[1] / (took[0] / tasks[0])
	t.Logf("a map takes %.2f s on the quick node and %.2f s on the slow one, %.1f times as long", took[0]/tasks[0], took[1]/tasks[1], ratio)
	if !(ratio > 2) {
		t.Fatal("the throttled node isn't slower")
	}
	// fills has jobs of heddle mr and an application that uses one host wait, and slots become free, those of one host before those of the other. It returns what each has then.
	fills := func(t *testing.T, policy string, jobs int, only, before string) (one *asker, held []int) {
		t.Helper()
		c.byFile(policy)
		blocker := c.asks(t, "blocker", 2*slots, am.StageReport{})
		await.Slowly(t, "all slots are taken", func() bool { return blocker.holds() == 2*slots })
		var apps []string
		for i := range jobs {
			apps = append(apps, c.maps(in, fmt.Sprint(out, policy, jobs, i), mapper, lines).application())
		}
		one = c.asksOn(t, "one", only, 100, am.StageReport{})
		t.Cleanup(func() {
			one.stop()
			for _, app := range apps {
				if text, err := exec.Command(c.binary, "app", "--conf", c.conf, "-kill", app).CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, text)
				}
			}
		})
		for _, app := range append([]string{one.id}, apps...) {
			await.Slowly(t, "all wait", func() bool {
				return strings.Contains(c.why(app), "progress") || strings.Contains(c.why(app), "tasks that it could have")
			})
		}
		given := 0
		count := func() (all []int, sum int) {
			all = []int{one.holds()}
			for _, app := range apps {
				all = append(all, c.tasksOf(app))
			}
			for _, n := range all {
				sum += n
			}
			return all, sum
		}
		for _, host := range []string{before, map[string]string{quickHost: slowHost, slowHost: quickHost}[before]} {
			for range slots {
				given += blocker.gives(host, 1)
				await.Slowly(t, "somebody has the slot that is free", func() bool {
					var sum int
					held, sum = count()
					return sum == given
				})
			}
		}
		blocker.stop()
		t.Logf("%s: the application on %s has %d of the slots, the jobs of heddle mr %d", policy, only, held[0], held[1:])
		return one, held
	}
	says := func(t *testing.T, a *asker, want float64) {
		t.Helper()
		await.Slowly(t, fmt.Sprintf("people read that %d of %d slots are %.2f of all progress", a.holds(), 2*slots, want), func() bool {
			found := progress.FindStringSubmatch(c.why(a.id))
			return found != nil && math.Abs(must(strconv.ParseFloat(found[1], 64))-want) < .07
		})
	}
	probe := c.asksOn(t, "probe", slowHost, slots+1, am.StageReport{})
	await.Slowly(t, "one has the slow node", func() bool { return probe.holds() == slots })
	says(t, probe, 1/(1+ratio)) // the speeds are learned
	probe.stop()
	for _, policy := range []string{"eunomia", "tsf"} {
		t.Run(policy, func(t *testing.T) {
			t.Run("one can use the slow node only", func(t *testing.T) {
				one, held := fills(t, policy, 2, slowHost, quickHost)
				if all := held[0] == slots; all != (policy == "eunomia") {
					t.Errorf("it has %d of the %d slots of the slow node, the others %d", held[0], slots, held[1:])
				}
				if policy == "eunomia" {
					says(t, one, 1/(1+ratio))
				}
			})
			t.Run("one says that it can use the quick node only", func(t *testing.T) {
				one, held := fills(t, policy, 1, quickHost, slowHost)
				if all := held[0] == slots; all != (policy == "tsf") || held[0] < slots/2 {
					t.Errorf("it has %d of the %d slots of the quick node, the other one %d", held[0], slots, held[1:])
				}
				if policy == "eunomia" {
					says(t, one, float64(held[0])/slots*ratio/(1+ratio))
				}
			})
		})
	}
}

// A job speculates on a node that is throttled. Hopper keeps slots for its copies until its tasks are old enough to judge, though another application could use them, and then
// lends them; copies of the slow tasks win. A job that doesn't speculate keeps none. Beside an ApplicationMaster that reports nonsense of its tasks a job gets its floor and ends.
func TestSlotsForCopiesOfAThrottledNodesTasks(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const slots, lines, tasks = 8, 8, 6 // slots of a node
	for _, x := range []struct {
		name, speculation string
		lies              bool
		kept              int // 10 slots are its virtual size, of which the other one's floor leaves 9
	}{
		{"with copies", "esplash", false, 3},
		{"without", "none", false, 0},
		{"beside a liar", "none", true, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := startPolicies(t, map[string]string{defaultQueue + "ordering-policy": "hopper", "yarn.nodemanager.resource.memory-mb": fmt.Sprint(slots*512 + spare)}, quickHost, slowHost)
			in, want := c.input(tasks, lines, 3)
			mapper, begun := computes(t, 100_000)
			var report am.StageReport
			if x.lies {
				report = am.StageReport{Left: 1, Ended: 1 << 40, Beta: 1.0001, Copies: true, Young: 1 << 50, Detection: 1000 * time.Hour, ToRead: 1 << 60, ToMake: 1}
			}
			other := c.asks(t, "other", 100, report)
			await.Slowly(t, "the other one has all", func() bool { return other.holds() == 2*slots })
			out := filepath.Join(c.dir, "out")
			j := c.maps(in, out, mapper, lines, "-speculation", x.speculation)
			app := j.application()
			_, slow := c.nodeOf("container_" + strings.TrimPrefix(app, "application_"))
			c.throttle(slow, 60)
			t.Cleanup(func() { c.throttle(slow, 0) })
			gets := func(tasks int, host string) { // tasks of the other one end until the job has so many
				await.Slowly(t, fmt.Sprintf("the job has %d tasks", tasks), func() bool {
					has := c.tasksOf(app)
					if has < tasks && has+other.holds() == 2*slots {
						other.more(other.gives(host, 1))
					}
					return has == tasks
				})
			}
			gets(tasks/2, quickHost)
			gets(tasks, slowHost)
			if x.kept > 0 {
				other.ends(x.kept + 3)
				await.Slowly(t, "slots are kept for the copies, and people read of them", func() bool {
					return strings.Contains(c.why(other.id), fmt.Sprintf("0 slots kept for copies, and %d for those of others", x.kept)) && other.holds() == 2*slots-tasks-x.kept+1 // what nodes have to spare is a slot for the policy
				})
			}
			await.Slowly(t, "all maps have begun", func() bool { return begun() >= tasks })
			await.Slowly(t, "the other one has what the job doesn't use", func() bool { return other.holds() >= 2*slots-tasks })
			if x.speculation == "none" {
				c.throttle(slow, 0) // nothing else is to be seen
			}
			await.Slowly(t, "the job ends, and has slots for copies as tasks of the other one end", func() bool {
				if x.speculation != "none" {
					other.ends(1)
				}
				return len(j.done) > 0
			})
			r := j.end()
			if got := c.output(out); got != want {
				t.Errorf("%d bytes of output instead of %d", len(got), len(want))
			}
			won := 0
			for _, a := range r.Tasks {
				if a.Copy && a.State == "succeeded" {
					won++
				}
			}
			if (won > 0) != (x.speculation != "none") {
				t.Errorf("%d copies have won: %+v", won, r.Tasks)
			}
		})
	}
}
