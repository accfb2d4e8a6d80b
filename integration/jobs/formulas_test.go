package jobs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/conf"
	"heddle/integration/hadooplab"
	"heddle/integration/shorttasks"
	"heddle/internal/await"
	"heddle/yarn/wire"
)

// many is how many NodeManagers the tests of Sparrow's claims start as processes.
const many = 24

// startMany starts nodes that were lent so many slots each. Nodes steal nothing, as in Sparrow.
func startMany(t *testing.T, slots int, set map[string]string) *cluster {
	t.Helper()
	hadooplab.SkipUnlessFull(t) // twenty-four nodes keep a small machine busy for minutes
	all := map[string]string{
		"heddle.probes.memory-mb": fmt.Sprint(512 * slots), "heddle.probes.vcores": fmt.Sprint(slots), "heddle.probes.steal": "false",
	}
	for k, v := range set {
		all[k] = v
	}
	return startCluster(t, 1, many, all)
}

// probing starts a scheduler of a user, and returns when all nodes have an executor of it.
func (c *cluster) probing(user string, nodes int, o probes.Options) *probes.Scheduler {
	c.t.Helper()
	cfg, err := conf.Load(conf.Options{Dir: c.conf})
	if err != nil {
		c.t.Fatal(err)
	}
	s := probes.New(o)
	running, err := probes.Cluster{Conf: cfg, User: user, Name: c.t.Name()}.Start(c.t.Context(), s)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := running.Stop(); err != nil {
			c.t.Error(err)
		}
		s.Close()
	})
	await.Slowly(c.t, "all nodes are connected", func() bool { return s.State().Nodes == nodes })
	c.idle(s, 40*nodes) // executors start
	return s
}

// idle runs so many short tasks.
func (c *cluster) idle(s *probes.Scheduler, n int) {
	var all sync.WaitGroup
	all.Add(n)
	for range n {
		s.Submit(&pool.Task{Task: wire.Task{What: wire.Nothing, TimeoutMS: 10}, Done: func(_ wire.Ended, err error) {
			if err != nil {
				c.t.Error(err)
			}
			all.Done()
		}})
	}
	all.Wait()
}

// offered is an experiment: jobs of tasks of exponential times come at random.
type offered struct {
	slots int // of all nodes
	load  float64
	tasks int           // of a job
	mean  time.Duration // of a task
	jobs  int
}

// measured is what came of it.
type measured struct {
	waits [][]time.Duration // of the tasks of each job: from its submission to its end, without its own time
	took  []time.Duration   // of jobs
	ideal []time.Duration   // likewise, if each task had the first slot that is free, in the order of the jobs
}

func (o offered) run(t *testing.T, s *probes.Scheduler, seed uint64) (m measured) {
	t.Helper()
	draw := rand.New(rand.NewPCG(17, seed))
	rate := o.load * float64(o.slots) / o.mean.Seconds() / float64(o.tasks)
	waits, took := make([][]time.Duration, o.jobs), make([]time.Duration, o.jobs)
	durations, at := make([][]time.Duration, o.jobs), make([]time.Duration, o.jobs)
	var all sync.WaitGroup
	var mu sync.Mutex
	began, next := time.Now(), time.Duration(0)
	for j := range o.jobs {
		next += time.Duration(draw.ExpFloat64() / rate * float64(time.Second))
		time.Sleep(time.Until(began.Add(next))) // the arrivals are the experiment
		submitted := time.Now()
		at[j] = submitted.Sub(began)
		var tasks []*pool.Task
		for range o.tasks {
			d := time.Duration(draw.ExpFloat64()*float64(o.mean)).Truncate(time.Millisecond) + time.Millisecond
			durations[j] = append(durations[j], d)
			all.Add(1)
			tasks = append(tasks, &pool.Task{
				Task: wire.Task{What: wire.Nothing, TimeoutMS: uint64(d.Milliseconds())},
				Done: func(e wire.Ended, err error) {
					if err != nil || e.Why != wire.Ran {
						t.Errorf("%+v, %v", e, err)
					}
					mu.Lock()
					waits[j] = append(waits[j], time.Since(submitted)-d)
					took[j] = max(took[j], time.Since(submitted))
					mu.Unlock()
					all.Done()
				},
			})
		}
		s.Job().Submit(tasks...)
	}
	all.Wait()
	warm := o.jobs / 5 // the cluster fills up meanwhile
	return measured{waits[warm:], took[warm:], shorttasks.Ideal(at, durations, o.slots)[warm:]}
}

func average(all []time.Duration) (mean time.Duration) {
	for _, d := range all {
		mean += d / time.Duration(len(all))
	}
	return mean
}

// quantile sorts.
func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[min(int(q*float64(len(all))), len(all)-1)]
}

// zeroWait is how probable it is that all m tasks of a job find idle nodes at once, by the formula of Sparrow's authors.
func zeroWait(m int, d, load float64) (p float64) {
	n := int(math.Ceil(d * float64(m)))
	for i := m; i <= n; i++ {
		p += math.Exp(lchoose(n, i)) * math.Pow(1-load, float64(i)) * math.Pow(load, float64(n-i))
	}
	return p
}

func lchoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}

func TestZeroWait(t *testing.T) {
	for _, test := range []struct {
		m       int
		d, load float64
		want    float64
	}{{1, 1, 0.8, 0.2}, {1, 2, 0.8, 0.36}, {2, 1, 0.5, 0.25}, {2, 2, 0.5, 11. / 16}} {
		if got := zeroWait(test.m, test.d, test.load); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// The probability of no wait is that of the formula, for one and for two probes of a task.
func TestZeroWaitOfManyNodes(t *testing.T) {
	c := startMany(t, 1, nil)
	for _, d := range []float64{1, 2} {
		t.Run(fmt.Sprintf("d=%v", d), func(t *testing.T) {
			o := offered{slots: many, load: 0.8, tasks: 1, mean: time.Second, jobs: 1200}
			m := o.run(t, c.probing("", many, probes.Options{Ratio: d, Estimate: o.mean}), 1)
			at := 0
			const atOnce = 25 * time.Millisecond
			for _, waits := range m.waits {
				if slices.Max(waits) < atOnce {
					at++
				}
			}
			got, want := float64(at)/float64(len(m.waits)), zeroWait(o.tasks, d, o.load)
			// Some of those that had to wait waited for less than that. Jobs after each other find similar nodes, as many as end and come in a
			// mean task's time, so that there are fewer independent ones.
			bias := (1 - want) * (1 - math.Exp(-atOnce.Seconds()/o.mean.Seconds()*d))
			independent := float64(len(m.waits)) * (1 - o.load)
			margin := 2.6 * math.Sqrt(want*(1-want)/independent)
			t.Logf("%.3f of %d jobs waited for nothing; by the formula %.3f ± %.3f", got, len(m.waits), want, margin)
			if got < want-margin || got > want+bias+margin {
				t.Errorf("%.3f isn't within %.3f ± %.3f (and %.3f for short waits)", got, want, margin, bias)
			}
		})
	}
}

// With batch sampling and late binding jobs take hardly longer at 90 % load than if one queue had all slots.
func TestBatchSamplingOfManyNodes(t *testing.T) {
	const slots = 4
	c := startMany(t, slots, nil)
	o := offered{slots: slots * many, load: 0.9, tasks: 20, mean: 400 * time.Millisecond, jobs: 600}
	m := o.run(t, c.probing("", many, probes.Options{Estimate: o.mean}), 1)
	took, ideal := average(m.took), average(m.ideal)
	t.Logf("jobs take %v, and %v if one queue had all slots: %.1f %% above", took, ideal, 100*(took.Seconds()/ideal.Seconds()-1))
	if took > ideal*114/100 {
		t.Errorf("jobs take %v, more than 14 %% above %v", took, ideal)
	}
}

// flood keeps more tasks of a user waiting than there are slots, and counts those that have ended, until stop.
func flood(s *probes.Scheduler, tasks int, each time.Duration) (ended func() int, stop func()) {
	var mu sync.Mutex
	var all sync.WaitGroup
	n, over := 0, false
	var submit func()
	submit = func() {
		all.Add(1)
		s.Submit(&pool.Task{Task: wire.Task{What: wire.Nothing, TimeoutMS: uint64(each.Milliseconds())}, Done: func(wire.Ended, error) {
			defer all.Done()
			mu.Lock()
			n++
			more := !over
			mu.Unlock()
			if more {
				submit()
			}
		}})
	}
	for range tasks {
		submit()
	}
	return func() int { mu.Lock(); defer mu.Unlock(); return n }, func() { mu.Lock(); over = true; mu.Unlock(); all.Wait() }
}

// A user with a higher priority isn't hurt by a flood of another one; users of one priority get slot time by their weights.
func TestIsolationOnManyNodes(t *testing.T) {
	const slots, task = 4, 100 * time.Millisecond
	c := startMany(t, slots, map[string]string{"heddle.probes.users": "anna:1:10,bob:2,carl:1"})
	o := offered{slots: slots * many, load: 0.25, tasks: 10, mean: task, jobs: 500}
	anna := c.probing("anna", many, probes.Options{Estimate: task})
	bob, carl := c.probing("bob", many, probes.Options{Estimate: task}), c.probing("carl", many, probes.Options{Estimate: task})
	alone := o.run(t, anna, 1)
	ofBob, stopBob := flood(bob, 6*slots*many, task)
	ofCarl, stopCarl := flood(carl, 6*slots*many, task)
	beside := o.run(t, anna, 1)
	before := [2]int{ofBob(), ofCarl()}
	time.Sleep(20 * time.Second) // what ends meanwhile is measured
	got := [2]int{ofBob() - before[0], ofCarl() - before[1]}
	stopBob()
	stopCarl()
	// A task that runs isn't ended for another one, so that each waits for the rest of one.
	limit := quantile(alone.took, .5) + task
	t.Logf("jobs of the first user: p50 %v, p95 %v alone, %v and %v beside a flood; %d and %d tasks of the others",
		quantile(alone.took, .5), quantile(alone.took, .95), quantile(beside.took, .5), quantile(beside.took, .95), got[0], got[1])
	if p50 := quantile(beside.took, .5); p50 > limit {
		t.Errorf("half of the jobs take %v, more than %v", p50, limit)
	}
	if ratio := float64(got[0]) / float64(got[1]); ratio < 1.8 || ratio > 2.2 {
		t.Errorf("the weights are 2 and 1, and the tasks that have ended %d and %d", got[0], got[1])
	}
}
