package jobs

import (
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am"
	"heddle/am/unmanaged"
	"heddle/conf"
	"heddle/integration/daemons"
	"heddle/integration/hadooplab"
	"heddle/internal/await"
	"heddle/yarn/records"
)

const defaultQueue = "yarn.scheduler.capacity.root.default."

// startPolicies starts a cluster of two nodes with four slots of 1 GB each, whose queue can be changed.
func startPolicies(t *testing.T, set map[string]string, hosts ...string) *cluster {
	t.Helper()
	site := map[string]string{
		"yarn.nodemanager.resource.memory-mb": "4096", "yarn.nodemanager.pmem-check-enabled": "false", "yarn.nodemanager.vmem-check-enabled": "false",
		"yarn.scheduler.minimum-allocation-mb": "128", defaultQueue + "maximum-am-resource-percent": "1", defaultQueue + "user-limit-factor": "100",
		"yarn.scheduler.capacity.root.queues": "default", defaultQueue + "capacity": "100", defaultQueue + "ordering-policy": "fair",
	}
	maps.Copy(site, set)
	return startCluster(t, 1, 2, site, hosts...)
}

// why is what people read of an application.
func (c *cluster) why(app string) string {
	c.t.Helper()
	out, err := exec.Command(c.binary, "app", "--conf", c.conf, "-why", app).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// says awaits that one of the applications that wait is explained by a policy, and none by another one.
func (c *cluster) says(policy string, apps ...string) {
	c.t.Helper()
	await.Slowly(c.t, fmt.Sprintf("people read of one of %s that its queue has the policy %q", apps, policy), func() bool {
		found := policy == "fifo"
		for _, app := range apps {
			text := c.why(app)
			for name, sentence := range hadooplab.Sentences {
				switch matches := sentence.MatchString(text); {
				case matches && name != policy:
					return false
				case matches:
					found = true
				}
			}
		}
		return found
	})
}

// byFile changes the policy of the queue as YARN's administrators do: in the file.
func (c *cluster) byFile(policy string) {
	c.t.Helper()
	if err := daemons.WriteSite(filepath.Join(c.conf, "capacity-scheduler.xml"), map[string]string{defaultQueue + "ordering-policy": policy}); err != nil {
		c.t.Fatal(err)
	}
	if out, err := exec.Command(c.binary, "rmadmin", "--conf", c.conf, "-refreshQueues").CombinedOutput(); err != nil {
		c.t.Fatalf("%v: %s", err, out)
	}
}

// byREST changes it by scheduler-conf.
func (c *cluster) byREST(policy string) {
	c.t.Helper()
	var body strings.Builder
	body.WriteString("<sched-conf><update-queue><queue-name>root.default</queue-name><params><entry><key>ordering-policy</key><value>")
	_ = xml.EscapeText(&body, []byte(policy)) // never fails
	body.WriteString("</value></entry></params></update-queue></sched-conf>")
	cfg := must(conf.Load(conf.Options{Dir: c.conf}))
	url := "http://" + cfg.Text("yarn.resourcemanager.webapp.address") + "/ws/v1/cluster/scheduler-conf?user.name=root"
	req := must(http.NewRequestWithContext(c.t.Context(), http.MethodPut, url, strings.NewReader(body.String())))
	req.Header.Set("Content-Type", "application/xml")
	resp := must(http.DefaultClient.Do(req))
	_ = resp.Body.Close() // nobody reads it
	if resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s for %s", resp.Status, &body)
	}
}

// The policies are switched on, changed and switched off while jobs of heddle mr run on nodes of which one is slow. People read what the
// policy says at each time, and the jobs come to what they should.
func TestPoliciesAreSwitchedWhileJobsRun(t *testing.T) {
	for name, test := range map[string]struct {
		set    map[string]string
		change func(c *cluster, policy string)
	}{
		"by the file": {change: (*cluster).byFile},
		"by REST":     {set: map[string]string{"yarn.scheduler.configuration.store.class": "memory"}, change: (*cluster).byREST},
	} {
		t.Run(name, func(t *testing.T) {
			c := startPolicies(t, test.set)
			c.throttle("nm2", 250)
			t.Cleanup(func() { c.throttle("nm2", 0) })
			in, all := texts(t)
			// It leaves room for two ApplicationMasters, so that neither job's tasks keep the other's out.
			blocker := c.asks(t, "blocker", 14, am.StageReport{})
			await.Slowly(t, "most is taken", func() bool { return blocker.holds() == 14 })
			wait, open := gate(t)
			var jobs []*job
			var apps []string
			for i := range 2 {
				j := c.mr("-input", in, "-output", fmt.Sprint(c.dir, "/out", i), "-mapper", wait+"cat", "-reducer", "cat",
					"-D", "mapreduce.input.fileinputformat.split.maxsize=200000", "-D", "mapreduce.map.memory.mb=1024", "-D", "mapreduce.reduce.memory.mb=1024",
					"-D", "yarn.app.mapreduce.am.resource.mb=512")
				jobs, apps = append(jobs, j), append(apps, j.application())
			}
			blocker.stop()
			for _, policy := range []string{"hopper", "eunomia", "fifo", "eunomia", "hopper"} {
				test.change(c, policy)
				c.says(policy, apps...)
			}
			open()
			test.change(c, "fair") // while tasks end
			test.change(c, "hopper")
			want := pipe(t, all, "sort")
			for i, j := range jobs {
				j.end()
				if got := c.output(fmt.Sprint(c.dir, "/out", i)); got != want {
					t.Errorf("job %d: %d bytes instead of %d", i, len(got), len(want))
				}
			}
		})
	}
}

// asker is an application in this process that asks for containers of 512 MB, and starts nothing in them.
type asker struct {
	t   *testing.T
	id  string
	use func(func(*am.Master))
	// stop ends it.
	stop func()

	mu   sync.Mutex
	held []am.Container
	host string // where its tasks may run alone; "": anywhere
}

// asks begins one.
func (c *cluster) asks(t *testing.T, name string, count int, report am.StageReport) *asker {
	t.Helper()
	return c.asksOn(t, name, "", count, report)
}

// asksOn begins one whose tasks run on one host only.
func (c *cluster) asksOn(t *testing.T, name, host string, count int, report am.StageReport) *asker {
	t.Helper()
	log := logrus.NewEntry(logrus.New())
	app, err := unmanaged.New(t.Context(), unmanaged.Options{Conf: must(conf.Load(conf.Options{Dir: c.conf})), Name: name, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	calls := make(chan func(*am.Master))
	a := &asker{t: t, id: app.ID.String(), host: host, use: func(f func(*am.Master)) {
		done := make(chan struct{})
		select {
		case calls <- func(m *am.Master) { f(m); close(done) }:
			<-done
		case <-t.Context().Done():
		}
	}}
	main := func(ctx context.Context, m *am.Master, _ string, stop <-chan struct{}) error {
		for {
			select {
			case <-stop:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			case f := <-calls:
				f(m)
			case e := <-m.Events():
				if all, ok := e.(am.ContainersAllocated); ok {
					a.mu.Lock()
					a.held = append(a.held, all.Containers...)
					a.mu.Unlock()
				}
			}
		}
	}
	r, err := app.Run(context.WithoutCancel(t.Context()), 128, main, func(err error) { t.Errorf("%s: %v", name, err) })
	if err != nil {
		t.Fatal(err)
	}
	a.stop = sync.OnceFunc(func() {
		if err := r.Stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	t.Cleanup(a.stop)
	a.reports(report)
	a.more(count)
	return a
}

func (a *asker) reports(r am.StageReport) { a.use(func(m *am.Master) { m.SetStages(r) }) }

func (a *asker) more(count int) {
	a.use(func(m *am.Master) {
		ask := am.Request{Priority: 1, Resource: records.NewResource(512, 1), RelaxLocality: a.host == "", Count: count}
		if a.host != "" {
			ask.Hosts = []string{a.host}
		}
		if _, err := m.Request(ask); err != nil {
			a.t.Error(err)
		}
	})
}

func (a *asker) holds() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.held)
}

// ends has so many of its tasks end, the oldest first, and asks for as many.
func (a *asker) ends(count int) { a.more(a.gives("", count)) }

// gives has so many of its tasks on a host end, "": on any, and returns how many did.
func (a *asker) gives(host string, count int) int {
	var ended []records.ContainerID
	a.mu.Lock()
	a.held = slices.DeleteFunc(a.held, func(x am.Container) bool {
		ends := len(ended) < count && (host == "" || host == x.Node.Host)
		if ends {
			ended = append(ended, x.ID)
		}
		return ends
	})
	a.mu.Unlock()
	a.use(func(m *am.Master) { m.Release(ended...) })
	return len(ended)
}

// What an ApplicationMaster of Heddle's library reports of its tasks passes through the leader to its queue's policy, and each change does.
func TestReportsOfTasksReachThePolicy(t *testing.T) {
	c := startPolicies(t, map[string]string{defaultQueue + "ordering-policy": "hopper", defaultQueue + "ordering-policy.hopper.alpha-dampening": "1"})
	a := c.asks(t, "reports", 40, am.StageReport{})
	says := func(what string) {
		t.Helper()
		await.Slowly(t, "people read "+what, func() bool { return strings.Contains(c.why(a.id), what) })
	}
	says("virtual size 66.7: 40 tasks, β 1.2, α 1;")
	a.reports(am.StageReport{Left: 32})
	says("virtual size 53.3: 32 tasks, β 1.2, α 1;")
	a.reports(am.StageReport{Left: 30, Ended: 60, Beta: 1.5})
	says("virtual size 40.0: 30 tasks, β 1.5, α 1;")
	a.reports(am.StageReport{Left: 30, Ended: 60, Beta: 1.5, ToRead: 400, ToMake: 100})
	says("virtual size 80.0: 30 tasks, β 1.5, α 4;")
}

// Whatever an ApplicationMaster says of its tasks, and however many tiny applications there are: each other one that asks gets the floor of its
// part (1 − ε)·S/N, as soon as tasks end.
func TestNobodyGainsMoreThanEpsilon(t *testing.T) {
	const slots, epsilon = 16, .1
	for _, policy := range []string{"hopper", "eunomia"} {
		t.Run(policy, func(t *testing.T) {
			c := startPolicies(t, map[string]string{defaultQueue + "ordering-policy": policy, defaultQueue + "ordering-policy.hopper.epsilon": fmt.Sprint(epsilon)})
			lie := am.StageReport{
				Left: 1 << 50, Copies: true, Young: 1 << 50, Detection: time.Hour * 1000, ToRead: 1 << 60, ToMake: 1, Ended: 1 << 40, Beta: 1.0001,
			}
			liar := c.asks(t, "liar", 100, lie)
			await.Slowly(t, "the liar has everything, being alone", func() bool { return liar.holds() == slots })
			honest := c.asks(t, "honest", 100, am.StageReport{})
			c.says(policy, honest.id)
			enough := func(others int) int { return int((1 - epsilon) * slots / float64(others+1)) }
			// As tasks of one end after the other, the honest one comes to its floor, and stays there.
			await.Slowly(t, "the honest one has the floor of two", func() bool {
				liar.ends(1)
				return honest.holds() >= enough(1)
			})
			for round := range 10 {
				lie.Young, lie.Beta = lie.Young-int64(round), 1.9-lie.Beta/10
				liar.reports(lie)
				honest.ends(2)
				liar.ends(2)
				await.Slowly(t, "the honest one has its floor again", func() bool { return honest.holds() >= enough(1) && liar.holds()+honest.holds() == slots })
			}
			// A flood of tiny applications, each of which goes on for ever with one task.
			var flood []*asker
			for i := range 6 {
				flood = append(flood, c.asks(t, fmt.Sprint("tiny", i), 1, am.StageReport{Left: 1}))
			}
			for range 10 {
				for _, a := range append(flood, liar, honest) {
					a.ends(1)
				}
				await.Slowly(t, "it has the floor of all", func() bool { return honest.holds() >= enough(1+len(flood)) })
			}
		})
	}
}

// One application has 100,000 tasks, and 200 of one task each come and go beside it, six at a time: each of these gets its container as tasks of the large one end, and that one
// always keeps the floor of its part, (1 − ε)·S/N.
func TestALargeJobBesideAFloodOfTinyOnes(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	const slots, epsilon, tasks, together, all = 16, .1, 100_000, 6, 200
	floor := int(math.Floor((1 - epsilon) * slots / (together + 1)))
	for _, policy := range []string{"hopper", "eunomia"} {
		t.Run(policy, func(t *testing.T) {
			c := startPolicies(t, map[string]string{
				defaultQueue + "ordering-policy": policy, defaultQueue + "ordering-policy.hopper.epsilon": fmt.Sprint(epsilon), defaultQueue + "maximum-applications": "1000",
			})
			large := c.asks(t, "large", tasks, am.StageReport{Left: tasks})
			await.Slowly(t, "the large one has everything, being alone", func() bool { return large.holds() == slots })
			for begun := 0; begun < all; begun += together {
				var tiny []*asker
				for i := range min(together, all-begun) {
					tiny = append(tiny, c.asks(t, fmt.Sprint("tiny", begun+i), 1, am.StageReport{Left: 1}))
				}
				await.Slowly(t, "each tiny one has its container", func() bool {
					if slices.ContainsFunc(tiny, func(a *asker) bool { return a.holds() == 0 }) {
						large.ends(1)
						return false
					}
					return true
				})
				if has := large.holds(); has < floor {
					t.Errorf("after %d tiny ones the large one has %d containers, and should have %d at least", begun, has, floor)
				}
				if begun == 0 {
					c.says(policy, large.id)
				}
				for _, a := range tiny {
					a.stop()
				}
				await.Slowly(t, "the large one has everything again", func() bool { return large.holds() == slots })
			}
		})
	}
}
