package whatif_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/am/client"
	"heddle/integration/cluster"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/internal/swapfile"
	"heddle/nm/nmtest"
	"heddle/rm"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// processes is a cluster of daemons whose containers have cgroups.
type processes struct {
	*daemons.Cluster
	t    *testing.T
	apps *client.Applications
	dir  string // of the record
}

func startProcesses(t *testing.T, rms, nms int, set map[string]string) *processes {
	t.Helper()
	nmtest.RealGroups(t)
	binary, remove, err := hadooplab.BuildHeddle()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	p := &processes{t: t, dir: t.TempDir()}
	all := twoQueues(p.dir)
	maps.Copy(all, set)
	all["heddle.cgroup.root"] = fmt.Sprintf("/heddle-what-if-%d-%d", os.Getpid(), time.Now().UnixNano())
	p.Cluster = cluster.Start(t, daemons.Options{Binary: binary, Dir: t.TempDir(), ResourceManagers: rms, NodeManagers: nms, Set: all})
	t.Cleanup(func() { cluster.Stop(t, p.Cluster) })
	p.apps = cluster.Applications(t, p.Cluster)
	return p
}

// run runs jobs. during hears of each that was submitted.
func (p *processes) run(list []job, during func(i int)) {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	var all sync.WaitGroup
	begin := time.Now()
	for i := range list {
		j := &list[i]
		until(begin.Add(j.at))
		id, _, err := p.apps.New(p.t.Context())
		if err != nil {
			p.t.Fatal(err)
		}
		text, err := json.Marshal(j.stages)
		if err != nil {
			p.t.Fatal(err)
		}
		master := client.Launch{Command: []string{"exec " + self}, Env: map[string]string{jobVariable: string(text), "HADOOP_CONF_DIR": p.Conf()}}
		if err := p.apps.Submit(p.t.Context(), client.Submission{ID: id, Name: "job", Queue: j.queue, Resource: small, AM: master}); err != nil {
			p.t.Fatal(err)
		}
		all.Go(func() { p.ends(id) })
		during(i)
	}
	all.Wait()
}

func (p *processes) ends(id records.ApplicationID) {
	if r, err := p.apps.Wait(p.t.Context(), id, nil); err != nil || !r.Succeeded() {
		p.t.Errorf("%v: %+v, %v", id, r, err)
	}
}

func (p *processes) load() *load.Load {
	p.t.Helper()
	cluster.Stop(p.t, p.Cluster) // the ResourceManagers write what they have recorded
	l, err := load.Open(p.dir, load.Options{})
	if err != nil {
		p.t.Fatal(err)
	}
	return l
}

// longAndShort are jobs of long tasks that fill the cluster, and then, every five seconds, jobs of short ones in a queue of their own.
func longAndShort() (list []job) {
	for range 4 {
		list = append(list, job{queue: "dev", stages: [2][]time.Duration{slices.Repeat([]time.Duration{time.Minute}, 10), {time.Second}}})
	}
	for i := range 20 {
		list = append(list, job{queue: "prod", at: time.Duration(10+5*i) * time.Second, stages: [2][]time.Duration{slices.Repeat([]time.Duration{2 * time.Second}, 3), {time.Second}}})
	}
	return list
}

// What preemption by suspension does to short jobs beside long ones is predicted from a record without it, made live on nodes that freeze their containers, and measured.
func TestSuspensionIsMetLive(t *testing.T) {
	long(t)
	swapfile.On(t, 1<<30) // without it suspended containers keep their memory
	suspends := map[string]string{"yarn.resourcemanager.scheduler.monitor.enable": "true", "heddle.scheduler.preemption": "suspend"}
	var loads [2]*load.Load
	t.Run("live", func(t *testing.T) {
		for i, set := range []map[string]string{nil, suspends} {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				p := startProcesses(t, 1, 3, set)
				await.Slowly(t, "the nodes are there", func() bool { return p.active() == 3 })
				p.run(longAndShort(), func(int) {})
				loads[i] = p.load()
			})
		}
	})
	if t.Failed() {
		return
	}
	s := setting{set: suspends}
	r := predict(t, loads[0], s.request())
	b := r.Backtest
	m := measure(r, loads[0], loads[1])
	t.Logf("backtest of %d applications: median %.2f %%, p95 %.2f %%; %s", b.Apps, 100*b.Median, 100*b.P95, m.text)
	suspended := 0
	for i := range loads[1].Apps {
		suspended += int(loads[1].Apps[i].Then.Suspended)
	}
	before, after, _, _ := predictedMean(r, "root.prod")
	measured := queueMean(loads[1], "root.prod")
	t.Logf("%d suspensions; within the bars: %v", suspended, m.inside)
	if !m.right || suspended == 0 || measured > before/2 || math.Abs(after-measured) > (before-measured)/10 {
		t.Errorf("the direction is right: %v; of %.2f s %.2f s were to stay, and %.2f s did, with %d suspensions", m.right, before, after, measured, suspended)
	}
}

// active counts the nodes that the ResourceManager knows as active.
func (p *processes) active() int {
	for _, at := range p.Addresses(rm.WebAddress) {
		var answer struct {
			ClusterMetrics struct{ ActiveNodes int }
		}
		resp, err := http.Get("http://" + at + "/ws/v1/cluster/metrics")
		if err != nil {
			continue
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err == nil {
			return answer.ClusterMetrics.ActiveNodes
		}
	}
	return -1
}

// A cluster whose leader is killed twice, once right after a node, and whose nodes come back, leaves records of several leaders in one folder. Played unchanged, they give the times that were
// measured, and there is an answer.
func TestRecordsOfSeveralLeadersArePlayed(t *testing.T) {
	long(t)
	p := startProcesses(t, 3, 4, map[string]string{"yarn.nm.liveness-monitor.expiry-interval-ms": "4000", "yarn.resourcemanager.am.max-attempts": "3"})
	await.Slowly(t, "the nodes are there", func() bool { return p.active() == 4 })
	list := jobs(40, 3)
	for i := range list {
		list[i].at *= 10
	}
	back := ""
	p.run(list, func(i int) {
		switch i {
		case 10, 25:
			leader, err := p.Leader(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if i == 25 {
				p.Kill("nm4")
			}
			p.Kill(leader)
			back = leader
		case 15, 30:
			for _, name := range map[int][]string{15: {back}, 30: {back, "nm4"}}[i] {
				if err := p.Start(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	l := p.load()
	t.Logf("%d sessions, %d applications, pauses %+v, notes: %q", l.Sessions, len(l.Apps), l.Pauses, l.Notes)
	if l.Sessions < 3 || len(l.Apps) != len(list) {
		t.Errorf("%d sessions, %d applications", l.Sessions, len(l.Apps))
	}
	r := predict(t, l, change.Request{Nodes: []string{"-1"}})
	b := r.Backtest
	t.Logf("backtest of %d applications: median %.2f %%, p95 %.2f %%: %+v", b.Apps, 100*b.Median, 100*b.P95, b.Worst)
	if b.Apps < len(list)*9/10 || b.Median > 0.017 || b.P95 > 0.1 {
		t.Errorf("the backtest misses by %.3f in the median, %.3f at p95: %+v", b.Median, b.P95, b.Worst)
	}
}
