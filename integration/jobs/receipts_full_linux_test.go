package jobs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/rm/receipt"
	"heddle/yarn/records"
)

// injected is how long a cause holds a job up: longer than all the rest of it takes on a busy machine.
const injected = 20 * time.Second

// cause is a reason why a job is late, and the kinds of steps that may name it.
type cause struct {
	name  string
	kinds []receipt.Kind
	args  []string
	// hold holds a job up that runs behind a gate; nil: it holds itself up.
	hold func(c *cluster, app string)
}

// causes are those that are injected; slow is the host on which tasks take longer.
func causes(slow string) []cause {
	sleep := fmt.Sprintf("sleep %d", injected/time.Second)
	every := func(mapper string) []string { return []string{"-mapper", mapper, "-numReduceTasks", "0"} }
	return []cause{
		{"long maps", []receipt.Kind{receipt.Maps}, every(sleep + "; cat"), nil},
		{"long reduces", []receipt.Kind{receipt.Reduces}, []string{"-mapper", "cat", "-reducer", sleep + "; cat", "-numReduceTasks", "1"}, nil},
		{"a task that fails", []receipt.Kind{receipt.Lost}, every("case $mapreduce_task_attempt_id in *000000_0) " + sleep + "; exit 7;; esac; cat"), nil},
		{"a task that straggles", []receipt.Kind{receipt.Straggling}, every("read n; if [ $n = 03 ]; then " + sleep + "; fi; sleep 1; echo $n"), nil},
		{"a slow node", []receipt.Kind{receipt.SlowNode}, every("if [ $NM_HOST = " + slow + " ]; then " + sleep + "; fi; sleep 1; cat"), nil},
		{"a suspended container", []receipt.Kind{receipt.Suspended}, nil, suspendOne},
		{"a killed attempt", []receipt.Kind{receipt.FailedBefore}, nil, killMaster},
	}
}

// takes waits until a kind of step takes as long as a cause holds a job up.
func (c *cluster) takes(app string, kinds ...receipt.Kind) {
	c.t.Helper()
	await.Slowly(c.t, fmt.Sprint(kinds, " hold the job up"), func() bool {
		sum := int64(0)
		for _, p := range c.receipt(app).Part {
			if slices.Contains(kinds, p.Kind) {
				sum += p.MS
			}
		}
		return sum >= injected.Milliseconds()
	})
}

func suspendOne(c *cluster, app string) {
	var id string
	await.Slowly(c.t, "a task works", func() bool {
		b := c.receipt(app)
		last := b.Step[len(b.Step)-1]
		id = last.ContainerID
		return last.Kind == receipt.Work && len(processes("while [ ! -e", id)) > 0
	})
	for _, what := range []string{"-suspend", "-resume"} {
		if out, err := exec.Command(c.binary, "container", "--conf", c.conf, what, id).CombinedOutput(); err != nil {
			c.t.Fatalf("%v: %s", err, out)
		}
		if what == "-suspend" {
			c.takes(app, receipt.Suspended)
		}
	}
}

func killMaster(c *cluster, app string) {
	c.takes(app, receipt.Work)
	for _, pid := range processes("mr-master", "container_"+strings.TrimPrefix(app, "application_")) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			c.t.Fatal(err)
		}
	}
	await.Slowly(c.t, "the second attempt works", func() bool {
		return len(processes("while [ ! -e", "container_"+strings.TrimPrefix(app, "application_")+"_02_")) > 0
	})
}

// judged is a row of the table.
type judged struct {
	cause string
	b     bill
	named bool
}

// table collects and prints what receipts said of which causes.
type table struct {
	sync.Mutex
	rows []judged
}

func (x *table) add(name string, b bill, kinds []receipt.Kind) {
	x.Lock()
	defer x.Unlock()
	x.rows = append(x.rows, judged{name, b, slices.Contains(kinds, b.Part[0].Kind)})
}

func (x *table) print(t *testing.T) (named int) {
	for _, r := range x.rows {
		parts := ""
		for _, p := range r.b.Part[:min(3, len(r.b.Part))] {
			parts += fmt.Sprintf("  %s %s %.1f s", p.Kind, p.Detail, float64(p.MS)/1000)
		}
		t.Logf("%-22s %5.1f s, named %v:%s", r.cause, float64(r.b.TotalMS)/1000, r.named, parts)
		if r.named {
			named++
		}
	}
	return named
}

// Of forty jobs of heddle mr that are held up each for one reason of eight, the largest part of at least 38 receipts is that reason, and each receipt's parts sum to the job's time. With -parallel 5 it
// takes 5 minutes; with more at a time, what the machine lacks is longer than what is injected.
func TestFortyReceiptsNameTheCause(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	nmtest.RealGroups(t)
	const each = 5
	c := startCluster(t, 1, 2, map[string]string{
		"yarn.nodemanager.resource.memory-mb": "6144", "yarn.scheduler.minimum-allocation-mb": "128", "yarn.scheduler.capacity.maximum-am-resource-percent": "0.9", "yarn.nodemanager.resource.cpu-vcores": "64",
	}, "localhost", "127.0.0.2")
	in, _ := c.numbered(4)
	small := []string{"-D", "mapreduce.input.fileinputformat.split.maxsize=3", "-D", "yarn.app.mapreduce.am.resource.mb=256", "-D", "mapreduce.map.memory.mb=256", "-D", "mapreduce.reduce.memory.mb=256"}
	all := &table{}
	for _, x := range causes("127.0.0.2") {
		t.Run(x.name, func(t *testing.T) {
			for i := range each {
				t.Run(fmt.Sprint(i), func(t *testing.T) {
					t.Parallel()
					own := *c
					own.t = t
					args, open := x.args, func() {}
					if x.hold != nil {
						var wait string
						wait, open = gate(t)
						args = []string{"-mapper", wait + "cat", "-numReduceTasks", "0"}
					}
					// the other maps mustn't wait as long as the one that is held up
					if x.hold != nil {
						args = append(args, "-input", filepath.Join(in, "00"))
					} else {
						args = append(slices.Clone(args), "-input", in)
					}
					j := own.mr(append(append(slices.Clone(small), "-output", filepath.Join(t.TempDir(), "out")), args...)...)
					t.Cleanup(func() {
						if t.Failed() {
							t.Log(j.stderr)
						}
					})
					app := j.application()
					if x.hold != nil {
						x.hold(&own, app)
					}
					open()
					j.end()
					all.add(x.name, own.over(app), x.kinds)
				})
			}
		})
	}
	t.Run("a full cluster", func(t *testing.T) {
		wait, open := gate(t)
		holder := c.mr("-input", in, "-output", filepath.Join(c.dir, "held"), "-mapper", wait+"cat", "-numReduceTasks", "0", "-D", "yarn.app.mapreduce.am.resource.mb=6144", "-D", "mapreduce.map.memory.mb=6144")
		await.Slowly(t, "the cluster is full", func() bool {
			out, err := exec.Command(c.binary, "top", "--conf", c.conf, "--json").Output()
			return err == nil && len(processes("while [ ! -e")) > 0 && strings.Contains(strings.Join(strings.Fields(string(out)), ""), `"availableMB":0,`)
		})
		var jobs []*job
		var apps []string
		for i := range each {
			j := c.mr(append(slices.Clone(small), "-input", in, "-output", filepath.Join(c.dir, fmt.Sprint("waited", i)), "-mapper", "cat", "-numReduceTasks", "0")...)
			j.until("application_")
			id, _, _ := strings.Cut(j.stderr.String(), ":")
			jobs, apps = append(jobs, j), append(apps, id)
		}
		for _, app := range apps {
			c.takes(app, receipt.AwaitsMaster)
		}
		open()
		holder.end()
		for i, j := range jobs {
			j.end()
			all.add("a full cluster", c.over(apps[i]), []receipt.Kind{receipt.AwaitsMaster, receipt.Awaits})
		}
	})
	if named := all.print(t); len(all.rows) != 40 || named < 38 {
		t.Errorf("%d of %d receipts name the cause", named, len(all.rows))
	}
}

// over returns the receipt of a job that has ended, which must sum to the time that YARN's REST API tells, within 5 %.
func (c *cluster) over(app string) bill {
	c.t.Helper()
	var b bill
	await.Slowly(c.t, "the application has ended", func() bool {
		b = c.receipt(app)
		return b.State == "FINISHED"
	})
	id, err := records.ParseApplicationID(app)
	if err != nil {
		c.t.Fatal(err)
	}
	r, err := c.applications().Report(c.t.Context(), id)
	if err != nil {
		c.t.Fatal(err)
	}
	if took := r.Finished.Sub(r.Started).Milliseconds(); 20*max(took-b.TotalMS, b.TotalMS-took) > took {
		c.t.Errorf("%s took %d ms, and its receipt is of %d ms", app, took, b.TotalMS)
	}
	return b
}
