package shorttasks

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"heddle/am/pool"
	"heddle/am/probes"
	"heddle/internal/await"
	"heddle/nm/shorttasks"
	"heddle/yarn/wire"
)

// sleeper is an executor whose tasks take the time that their payload says, and that remembers when they began.
type sleeper struct {
	begun *sync.Map // time.Time by number of the task
}

func (x sleeper) run(ctx context.Context, address string, e shorttasks.Executor) {
	c, err := wire.Dial(ctx, address, []byte(e.ID.String()), e.Secret)
	if err != nil {
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	if c.Send(&wire.Hello{Container: e.ID.String(), Slots: uint64(e.Slots)}) != nil {
		return
	}
	for {
		m, err := c.Receive()
		if err != nil {
			return
		}
		if t, ok := m.(*wire.Task); ok {
			number, d := binary.BigEndian.Uint64(t.Payload), time.Duration(binary.BigEndian.Uint64(t.Payload[8:]))
			x.begun.Store(number, time.Now())
			id := t.ID
			time.AfterFunc(d, func() { _ = c.Send(&wire.Ended{ID: id}) }) // the connection ends with the test
		}
	}
}

// offered is an experiment: jobs at random times on nodes of one slot each.
type offered struct {
	nodes int
	load  float64
	tasks int           // of a job
	mean  time.Duration // of a task, exponential
	ratio float64
	jobs  int
}

// measured is what came of it: how long the tasks of each job waited, and how long jobs took, beside an omniscient placement.
type measured struct {
	waits       [][]time.Duration
	took, ideal time.Duration // means
}

func (o offered) run(t *testing.T) (m measured) {
	ns := newNodes(t, o.nodes, 1)
	begun := &sync.Map{}
	for _, x := range ns.all {
		x.own = sleeper{begun}.run
	}
	s := ns.scheduler(probes.Options{Ratio: o.ratio, Estimate: o.mean})
	await.Until(t, "all nodes are connected", func() bool { return s.State().Nodes == o.nodes })
	draw := rand.New(rand.NewPCG(1, uint64(o.ratio*10)))
	rate := o.load * float64(o.nodes) / o.mean.Seconds() / float64(o.tasks)
	var all sync.WaitGroup
	var mu sync.Mutex
	submitted := make([]time.Time, o.jobs)
	durations := make([][]time.Duration, o.jobs)
	ends := make([]time.Time, o.jobs)
	began := time.Now()
	at := time.Duration(0)
	for j := range o.jobs {
		at += time.Duration(draw.ExpFloat64() / rate * float64(time.Second))
		time.Sleep(time.Until(began.Add(at))) // the arrivals are the experiment
		var tasks []*pool.Task
		submitted[j] = time.Now()
		for i := range o.tasks {
			d := time.Duration(draw.ExpFloat64() * float64(o.mean))
			durations[j] = append(durations[j], d)
			payload := binary.BigEndian.AppendUint64(nil, uint64(j*o.tasks+i))
			all.Add(1)
			tasks = append(tasks, &pool.Task{
				Task: wire.Task{What: wire.Call, Payload: binary.BigEndian.AppendUint64(payload, uint64(d))},
				Done: func(_ wire.Ended, err error) {
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					ends[j] = time.Now()
					mu.Unlock()
					all.Done()
				},
			})
		}
		s.Job().Submit(tasks...)
	}
	all.Wait()
	warm := o.jobs / 5 // the cluster fills up meanwhile
	best := placed(submitted, durations, o.nodes)
	for j := warm; j < o.jobs; j++ {
		var waits []time.Duration
		for i := range o.tasks {
			at, _ := begun.Load(uint64(j*o.tasks + i))
			waits = append(waits, at.(time.Time).Sub(submitted[j]))
		}
		m.waits = append(m.waits, waits)
		m.took += ends[j].Sub(submitted[j]) / time.Duration(o.jobs-warm)
		m.ideal += best[j] / time.Duration(o.jobs-warm)
	}
	return m
}

// placed returns how long jobs take if each task gets the first slot that is free.
func placed(at []time.Time, durations [][]time.Duration, slots int) (took []time.Duration) {
	free := make([]time.Time, slots)
	for j, tasks := range durations {
		end := at[j]
		for _, d := range tasks {
			first := 0
			for i := range free {
				if free[i].Before(free[first]) {
					first = i
				}
			}
			begin := free[first]
			if begin.Before(at[j]) {
				begin = at[j]
			}
			free[first] = begin.Add(d)
			if free[first].After(end) {
				end = free[first]
			}
		}
		took = append(took, end.Sub(at[j]))
	}
	return took
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

// The probability of no wait is that of the formula, and jobs take hardly longer than if somebody knew everything.
func TestSparrowsFormulas(t *testing.T) {
	if os.Getenv("HEDDLE_TEST_FULL") == "" {
		t.Skip("HEDDLE_TEST_FULL=1 runs it, as it takes minutes")
	}
	for _, o := range []offered{
		{nodes: 64, load: 0.8, tasks: 1, mean: time.Second, ratio: 1, jobs: 2000},
		{nodes: 64, load: 0.8, tasks: 1, mean: time.Second, ratio: 2, jobs: 2000},
	} {
		t.Run(fmt.Sprintf("d=%v", o.ratio), func(t *testing.T) {
			m := o.run(t)
			at := 0
			const atOnce = 25 * time.Millisecond
			for _, waits := range m.waits {
				if slices.Max(waits) < atOnce {
					at++
				}
			}
			got, want := float64(at)/float64(len(m.waits)), zeroWait(o.tasks, o.ratio, o.load)
			// Some of those that had to wait waited for less than that. Jobs after each other find similar nodes, as many as end and come in a
			// mean task's time, so that there are fewer independent ones.
			bias := (1 - want) * (1 - math.Exp(-atOnce.Seconds()/o.mean.Seconds()*o.ratio))
			independent := float64(len(m.waits)) * (1 - o.load)
			margin := 2.6 * math.Sqrt(want*(1-want)/independent)
			t.Logf("%.3f of %d jobs waited for nothing; by the formula %.3f ± %.3f", got, len(m.waits), want, margin)
			if got < want-margin || got > want+bias+margin {
				t.Errorf("%.3f isn't within %.3f ± %.3f (and %.3f for short waits)", got, want, margin, bias)
			}
		})
	}
	t.Run("batch", func(t *testing.T) {
		o := offered{nodes: 100, load: 0.9, tasks: 20, mean: 200 * time.Millisecond, ratio: 2, jobs: 800}
		m := o.run(t)
		t.Logf("jobs take %v, and %v if somebody knew everything", m.took, m.ideal)
		if m.took > m.ideal*114/100 {
			t.Errorf("jobs take %v, more than 14 %% above %v", m.took, m.ideal)
		}
	})
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
