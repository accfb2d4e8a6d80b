package jobs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/await"
	"heddle/nm/nmtest"
	"heddle/rm/receipt"
	"heddle/rm/scheduler/explain"
)

// bill is what heddle app -receipt --json prints.
type bill struct {
	State             string
	From, To, TotalMS int64
	Part              []struct {
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

// receipt is an application's, whose steps must follow each other and sum to its time.
func (c *cluster) receipt(app string) bill {
	c.t.Helper()
	out, err := exec.Command(c.binary, "app", "--conf", c.conf, "-receipt", app, "--json").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	var answer struct{ Receipt bill }
	if err := json.Unmarshal(out, &answer); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	b := answer.Receipt
	at := b.From
	for _, s := range b.Step {
		if s.From != at {
			c.t.Errorf("a gap: %s", out)
		}
		at = s.To
	}
	sum := int64(0)
	for _, p := range b.Part {
		sum += p.MS
	}
	if at != b.To || sum != b.To-b.From || sum != b.TotalMS {
		c.t.Errorf("parts sum to %d ms: %s", sum, out)
	}
	return b
}

// has awaits that something takes three quarters of an application's time until now.
func (c *cluster) has(app string, kind receipt.Kind) {
	c.t.Helper()
	var b bill
	defer func() {
		if c.t.Failed() {
			c.t.Logf("its receipt: %+v", b)
		}
	}()
	await.Slowly(c.t, string(kind)+" is most of the time", func() bool {
		b = c.receipt(app)
		return len(b.Part) > 0 && b.Part[0].Kind == kind && 4*b.Part[0].MS > 3*b.TotalMS
	})
}

// ended checks what most of an ended application's time went to, and that it has the times of YARN's REST API.
func (j *job) ended(app string, kind receipt.Kind) {
	j.c.t.Helper()
	j.end()
	await.Slowly(j.c.t, "the application has ended", func() bool { return j.c.receipt(app).State == "FINISHED" })
	if b := j.c.receipt(app); b.Part[0].Kind != kind {
		j.c.t.Errorf("%s took longest, not %s: %+v", b.Part[0].Kind, kind, b)
	}
}

// What made a job late is the largest part of its receipt: its work, a container that an operator has suspended, a killed ApplicationMaster, and a full cluster.
func TestReceiptsNameTheCause(t *testing.T) {
	nmtest.RealGroups(t)
	c := startCluster(t, 1, 1, map[string]string{"yarn.nodemanager.resource.memory-mb": "3072", "yarn.scheduler.minimum-allocation-mb": "256", "yarn.scheduler.capacity.maximum-am-resource-percent": "0.8"})
	in := filepath.Join(c.dir, "in.txt")
	if err := os.WriteFile(in, []byte("a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	begin := func(name string, more ...string) (j *job, app string, open func()) {
		wait, open := gate(t)
		j = c.mr(append([]string{"-input", in, "-output", filepath.Join(c.dir, name), "-mapper", wait + "cat", "-numReduceTasks", "0", "-D", "yarn.app.mapreduce.am.resource.mb=512"}, more...)...)
		return j, j.application(), open
	}
	runs := func(app, attempt string) []int {
		return processes("while [ ! -e", "container_"+strings.TrimPrefix(app, "application_")+attempt)
	}

	j, app, open := begin("work")
	c.has(app, receipt.Work)
	open()
	j.ended(app, receipt.Maps)

	j, app, open = begin("suspended")
	await.Slowly(t, "the mapper runs", func() bool { return len(runs(app, "")) > 0 })
	b := c.receipt(app)
	id := b.Step[len(b.Step)-1].ContainerID
	for _, what := range []string{"-suspend", "-resume"} {
		if out, err := exec.Command(c.binary, "container", "--conf", c.conf, what, id).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if what == "-suspend" {
			c.has(app, receipt.Suspended)
		}
	}
	open()
	j.ended(app, receipt.Suspended)

	j, app, open = begin("killed")
	await.Slowly(t, "the mapper runs", func() bool { return len(runs(app, "_01_")) > 0 })
	c.has(app, receipt.Work)
	before := c.receipt(app).TotalMS
	for _, pid := range processes("mr-master", "container_"+strings.TrimPrefix(app, "application_")) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	await.Slowly(t, "the mapper runs again", func() bool { return len(runs(app, "_02_")) > 0 })
	open()
	j.end()
	failed := int64(0)
	b = c.receipt(app)
	for _, p := range b.Part {
		if p.Kind == receipt.FailedBefore {
			failed = p.MS
		}
	}
	if failed < before {
		t.Errorf("the first attempt took %d ms at least: %+v", before, b)
	}

	holder, _, letGo := begin("holder", "-D", "mapreduce.map.memory.mb=1536")
	await.Slowly(t, "the cluster is full", func() bool { return len(processes("while [ ! -e")) > 0 })
	j, app, open = begin("waits", "-D", "mapreduce.map.memory.mb=1536")
	c.has(app, receipt.Awaits)
	// the leader looks each second at what waits
	await.Slowly(t, "the limit is on record", func() bool { return c.receipt(app).Part[0].Detail == string(explain.ClusterFull) })
	open()
	letGo()
	holder.end()
	j.ended(app, receipt.Awaits)
	if b := c.receipt(app); b.Part[0].Detail != string(explain.ClusterFull) {
		t.Errorf("it waited for %s: %+v", b.Part[0].Detail, b)
	}
}
