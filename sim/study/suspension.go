package study

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"heddle/internal/timeline"
	"heddle/rm/queue"
	"heddle/rm/queue/suspension"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/yarn/records"
)

// Facts of BIG-C's paper on its cluster (section 5.1) and on the trace that it replays (section 5.5).
const (
	nodes       = 26
	cores       = 32 // two processors of eight cores, with hyperthreading
	memory      = 132 << 10
	hours       = 3.8
	shortJobs   = 2020
	longJobs    = 182
	shortLoad   = 0.17 // of the cluster, by short jobs alone
	longLoad    = 0.75
	tick        = 3 * time.Second // between two heartbeats of a node
	reclaiming  = 1 << 30 / 3     // bytes a second: 1 GB in 3 s
	mostContain = 4               // containers that a task may lose, by default of Hadoop and Spark
)

// Facts that it doesn't give.
const (
	spikes     = 8    // of short jobs: the text's figure 8 shows several
	spiked     = 0.3  // part of the short jobs that come in them
	spikeLasts = 100. // seconds
	shortMean  = 20.  // seconds of a short task
	longMean   = 400. // seconds of an executor
	longSpread = 0.6  // deviation of the logarithm of a long job's mean
	longVary   = 0.5  // part by which long jobs differ in executors, and these in how long they run
	shortVary  = 0.5  // the same of short jobs and their tasks
	resident   = 0.6  // part of its memory that an executor uses
)

// drawn is a trace like the one that the text replays.
type drawn struct {
	part       float64 // how much of it there is, from 0 to 1
	shortMean  float64 // seconds of a short task; the load stays the same
	longSpread float64 // deviation of the logarithm of a long job's mean
	longVary   float64 // part by which long jobs' executors differ in number, and in how long they run
}

var wholeTrace = drawn{1, shortMean, longSpread, longVary}

// jobs are so many, which load the cluster so much, the short ones with spikes.
func (d *drawn) jobs(seed uint64) (jobs []sim.Job) {
	random := rand.New(rand.NewPCG(seed, 8))
	whole := hours * 3600.
	length := whole * d.part
	around := func(vary float64) float64 { return 1 - vary + 2*vary*random.Float64() }
	add := func(name, queue string, at, mean, vary float64, size records.Resource, n int) {
		j := sim.Job{
			Name: name, Submit: sim.Time(at * 1e9), Queue: queue, User: "u", Estimate: sim.Time(mean * 1e9),
			Stages: []sim.Stage{{Priority: 1, Resource: size}},
		}
		for range n {
			d := sim.Time(mean * around(vary) * 1e9)
			j.Stages[0].Tasks = append(j.Stages[0].Tasks, sim.Task{Duration: d})
			j.Work += d
		}
		jobs = append(jobs, j)
	}
	// Executors of the text's three sizes, as many as make up the load.
	sizes := []records.Resource{records.NewResource(16<<10, 8), records.NewResource(32<<10, 8), records.NewResource(32<<10, 16)}
	executors := longLoad * nodes * cores * whole / longJobs / longMean / (32. / 3)
	for i := range int(longJobs * d.part) {
		mean := longMean * math.Exp(d.longSpread*random.NormFloat64()-d.longSpread*d.longSpread/2)
		add(fmt.Sprint("long", i), "root.long", random.Float64()*length, mean, d.longVary, sizes[i%len(sizes)], int(executors*around(d.longVary)+0.5))
	}
	tasks := shortLoad * nodes * cores * whole / shortJobs / d.shortMean / 4
	begins := make([]float64, max(1, int(spikes*d.part)))
	for i := range begins {
		begins[i] = length * (float64(i) + 0.2 + 0.6*random.Float64()) / float64(len(begins))
	}
	for i := range int(shortJobs * d.part) {
		at := random.Float64() * length
		if random.Float64() < spiked {
			at = begins[random.IntN(len(begins))] + spikeLasts*random.Float64()
		}
		add(fmt.Sprint("short", i), "root.short", at, d.shortMean, shortVary, records.NewResource(4<<10, 4),
			int(tasks*around(shortVary)+0.5))
	}
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return int(min(max(a.Submit-b.Submit, -1), 1)) })
	return jobs
}

// regime is how long and short jobs share the cluster.
type regime struct {
	name    string
	single  bool // one queue for all
	reserve bool // short jobs have 60 % to themselves
	yarn    bool // YARN's own bounds of a round, which BIG-C doesn't have
	means   suspension.Means
	ranking suspension.Ranking
	tries   int
	longest time.Duration // that a container is suspended in all; 0: an hour
	paging  sim.Paging
	trace   *drawn           // nil: wholeTrace
	step    records.Resource // that graceful preemption takes at a time; zero: the default
	joined  bool             // one machine has what all have, so that a suspended container's own node is any
}

func (x *regime) tree() (*queue.Tree, error) {
	keys := map[string]string{
		"root.queues": "long,short", "root.long.capacity": "5", "root.short.capacity": "95", "root.long.user-limit-factor": "100", "root.short.user-limit-factor": "100",
		"resource-calculator": "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator", "maximum-applications": "100000",
	}
	switch {
	case x.single:
		keys["root.queues"], keys["root.all.capacity"] = "all", "100"
		keys["root.all.user-limit-factor"] = "100"
	case x.reserve:
		keys["root.long.capacity"], keys["root.long.maximum-capacity"] = "40", "40"
		keys["root.short.capacity"], keys["root.short.maximum-capacity"] = "60", "60"
	}
	t, err := queue.ParseCapacity(keys)
	if err != nil {
		return nil, err
	}
	p := &t.Settings.Preemption
	if p.Enabled = x.means != suspension.Spare; !x.yarn {
		p.PerRound, p.Natural, p.Wait = 1, 1, 0
	}
	t.Settings.Suspension.Tries, t.Settings.Suspension.Ranking = x.tries, x.ranking
	if !x.step.IsZero() {
		t.Settings.Suspension.Step = x.step
	}
	if x.longest > 0 {
		t.Settings.Suspension.Longest = x.longest
	}
	for _, q := range t.Queues() {
		q.NoPreemption, q.Means = false, x.means
	}
	return t, nil
}

// replay is what a regime makes of a trace.
type replay struct {
	*sim.Report
	busy float64 // part of the time until the last submission in which more than 80 % of the cores are used
	line timeline.Line
}

func (x *regime) run(seed uint64) (*replay, error) {
	return x.serve(cmp.Or(x.trace, &wholeTrace).jobs(seed))
}

// serve runs jobs.
func (x *regime) serve(jobs []sim.Job) (*replay, error) {
	t, err := x.tree()
	if err != nil {
		return nil, err
	}
	if x.single {
		for i := range jobs {
			jobs[i].Queue = "root.all"
		}
	}
	d := eventlog.Unrecorded(scheduler.Config{Tree: t, Minimum: records.NewResource(1024, 1), Heartbeat: tick})
	count, times := nodes, 1
	if x.joined {
		count, times = 1, nodes
	}
	c, err := sim.NewCluster(d, sim.Nodes{
		Count: count, Capacity: records.NewResource(memory, cores).Times(int64(times)), Paging: x.paging,
		Ability: drive.Ability{Suspend: true, Shrink: true, Reclaim: true, Out: x.paging.Out, In: x.paging.In},
	}, jobs)
	if err != nil {
		return nil, err
	}
	w := &watcher{last: jobs[len(jobs)-1].Submit, short: make([]bool, len(jobs))}
	for i := range jobs {
		w.short[i] = isShort(jobs[i].Name)
	}
	c.Watch = w.watch
	r, err := c.Run()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", x.name, err)
	}
	return &replay{r, w.busy.Seconds() / w.last.Seconds(), timeline.Line{Title: x.name, End: w.last.Seconds(), Slots: nodes * cores, Spans: w.spans}}, nil
}

// watcher sees how many cores are used by short and by long jobs.
type watcher struct {
	last, busy sim.Time
	short      []bool // by job
	spans      []timeline.Span
	used       [2]int64
	since      [2]sim.Time
	busySince  sim.Time
}

func (w *watcher) watch(now sim.Time, job int, change records.Resource) {
	kind := longJob
	if w.short[job] {
		kind = shortJob
	}
	now = min(now, w.last)
	if now > w.since[kind] && w.used[kind] > 0 {
		w.spans = append(w.spans, timeline.Span{Kind: kind, From: w.since[kind].Seconds(), To: now.Seconds(), Amount: float64(w.used[kind])})
	}
	w.since[kind] = now
	if 10*(w.used[0]+w.used[1]) > 8*nodes*cores {
		w.busy += now - w.busySince
	}
	w.busySince = now
	w.used[kind] += change.VCores()
}

// isShort reports whether that is the name of a short job.
func isShort(name string) bool { return strings.HasPrefix(name, "short") }

// figures of a regime over several seeds.
type figures struct{ median, short, delay, longest, long, tail, suspended, killed, lost, failed, busy, spread sample }

func (x *regime) figures(seeds Seeds) (f figures, first *replay, err error) {
	return x.figuresOf(seeds, x.run)
}

// figuresOf returns those of runs with each seed.
func (x *regime) figuresOf(seeds Seeds, run func(seed uint64) (*replay, error)) (f figures, first *replay, err error) {
	for seed := range seeds.All() {
		r, err := run(seed)
		if err != nil {
			return f, nil, err
		}
		f.add(r)
		if first == nil {
			first = r
		}
	}
	return f, first, nil
}

// add adds the run with another seed.
func (f *figures) add(r *replay) {
	short := func(o *sim.Outcome) bool { return isShort(o.Name) }
	long := func(o *sim.Outcome) bool { return !short(o) }
	s, l := r.Latencies(short), r.Latencies(long)
	f.median, f.short = append(f.median, sim.Percentile(s, 50).Seconds()), append(f.short, sim.Percentile(s, 95).Seconds())
	f.long, f.tail = append(f.long, sim.Percentile(l, 50).Seconds()), append(f.tail, sim.Percentile(l, 90).Seconds())
	var times sample
	for _, t := range l {
		times = append(times, t.Seconds())
	}
	f.spread = append(f.spread, times.Deviation()/times.Mean())
	var delays []sim.Time
	failed := 0
	for i := range r.Jobs {
		if o := &r.Jobs[i]; short(o) {
			delays = append(delays, o.Start-o.Submit)
		} else if o.Lost >= mostContain {
			failed++
		}
	}
	slices.Sort(delays)
	f.delay, f.longest = append(f.delay, sim.Percentile(delays, 99).Seconds()), append(f.longest, sim.Percentile(delays, 100).Seconds())
	f.suspended, f.killed = append(f.suspended, float64(r.Suspended)), append(f.killed, float64(r.Preempted))
	f.lost, f.failed, f.busy = append(f.lost, r.Wasted.Seconds()/3600), append(f.failed, float64(failed)), append(f.busy, 100*r.busy)
}

// suspensionParameters are those of BIG-C's study.
var suspensionParameters = []Parameter{
	{
		Name:    "tables",
		Default: "",
		What:    "policies, tries, quick (disks), orders, bounds, steps, patterns, burst, causes and own-node; all otherwise",
	},
	{Name: "part", Default: "1", What: "of the trace of 3.8 hours, from 0 to 1"},
	{
		Name: "short-mean", Default: "20",
		What: "seconds of a short task of the trace, whose load stays the same; the text doesn't say",
	},
	{
		Name: "long-spread", Default: "0.6",
		What: "deviation of the logarithm of a long job's mean task in the trace; the text doesn't say",
	},
	{
		Name: "long-vary", Default: "0.5",
		What: "part, 0 to 1, by which the trace's long jobs differ in executors, and these in how long they run; the text doesn't say",
	},
	{Name: "tries", Default: "0,1,2,3,4,5", What: "values of D in the table of tries"},
	{Name: "disk", Default: "0.5", What: "seconds in which 1 GB is paged out, or in, in the table of steps"},
	{Name: "one-node", Default: "0", What: "1: one node is as large as all in the table of steps"},
}

var suspensionColumns = []string{
	"policy", "short jobs p50", "p95", "start after p99", "at most", "long jobs p50", "p90", "against kill", "against FIFO", "spread of long jobs", "suspended", "killed", "hours lost", "would fail", "busy %",
}

// cells returns the figures as a row has them, with the changes of long jobs' p90 from those with killing, and with first come, first served.
func (f *figures) cells(kill, fifo *figures) []Cell {
	change := func(base *figures) Cell {
		if base == nil || base == f {
			return Cell{}
		}
		return f.tail.Change(base.tail)
	}
	return []Cell{
		f.median.Cell(0), f.short.Cell(0), f.delay.Cell(0), f.longest.Cell(0), f.long.Cell(0), f.tail.Cell(0), change(kill), change(fifo), f.spread.Cell(2),
		f.suspended.Cell(0), f.killed.Cell(0), f.lost.Cell(0), f.failed.Cell(1), f.busy.Cell(0),
	}
}

// The disks of the text, and quicker ones.
var (
	theirDisks = sim.Paging{Out: reclaiming, In: reclaiming, Resident: resident}
	ourDisks   = sim.Paging{Out: 2 << 30, In: 2 << 30, Resident: resident}
)

const (
	byKill = "kill, as much as is needed at once"
	byFIFO = "FIFO"
)

func suspending(means suspension.Means, paging sim.Paging) regime {
	word := map[suspension.Means]string{suspension.Graceful: "GP (suspend)", suspension.Immediate: "IP (suspend-immediate)"}
	return regime{name: word[means], means: means, tries: 3, paging: paging}
}

// policies returns those that the text compares.
func policies(paging sim.Paging) []regime {
	return []regime{
		{name: byFIFO, single: true, means: suspension.Spare, paging: paging},
		{name: "reserve", reserve: true, means: suspension.Spare, paging: paging},
		{name: byKill, means: suspension.Kill, paging: paging},
		{name: "kill, with YARN's defaults", means: suspension.Kill, yarn: true, paging: paging},
		suspending(suspension.Immediate, paging), suspending(suspension.Graceful, paging),
	}
}

// Suspension compares BIG-C's graceful and immediate preemption with killing, with a reservation, and with first come, first served.
func Suspension(o *Options) (*Study, error) {
	s := &Study{
		Title: "Suspension: preemption that loses nothing (BIG-C). 26 nodes, 2020 short and 182 long jobs in 3.8 h. Seconds.", Seeds: o.Seeds,
	}
	trace := drawn{o.Number("part"), o.Number("short-mean"), o.Number("long-spread"), o.Number("long-vary")}
	if trace.part <= 0 || trace.part > 1 {
		o.Fail("part", "a number above 0, to 1")
	}
	if trace.shortMean <= 0 {
		o.Fail("short-mean", "a number above 0")
	}
	if !(trace.longVary >= 0 && trace.longVary <= 1) {
		o.Fail("long-vary", "a number from 0 to 1")
	}
	values, stepped := o.Numbers("tries"), sim.Paging{Resident: resident}
	if disk := o.Number("disk"); disk > 0 {
		stepped.Out = int64((1 << 30) / disk)
		stepped.In = stepped.Out
	} else {
		o.Fail("disk", "a number above 0")
	}
	if o.Failed() != nil {
		return nil, o.Failed()
	}
	var tries, orders, bounds, steps []regime
	for _, means := range []suspension.Means{suspension.Immediate, suspension.Graceful} {
		for _, d := range values {
			x := suspending(means, theirDisks)
			x.tries, x.name = int(d), fmt.Sprintf("%s, D = %g", x.name, d)
			tries = append(tries, x)
		}
		for _, order := range []suspension.Ranking{suspension.ByRemaining, suspension.ByLeastAttained, suspension.ByCost} {
			x := suspending(means, ourDisks)
			x.ranking, x.name = order, fmt.Sprintf("%s, %v", x.name, order)
			orders = append(orders, x)
		}
		for _, longest := range []time.Duration{time.Hour, 15 * time.Minute, 5 * time.Minute} {
			x := suspending(means, ourDisks)
			x.longest, x.name = longest, fmt.Sprintf("%s, at most %.0f min", x.name, longest.Minutes())
			bounds = append(bounds, x)
		}
	}
	steps = append(steps, regime{name: byKill, means: suspension.Kill, paging: stepped}, suspending(suspension.Immediate, stepped))
	for _, n := range []int64{1, 2, 4, 8} {
		x := suspending(suspension.Graceful, stepped)
		x.step, x.name = records.NewResource(2048*n, n), fmt.Sprintf("%s, steps of %d cores and %d GB", x.name, n, 2*n)
		steps = append(steps, x)
	}
	for i := range steps {
		steps[i].joined = o.Number("one-node") == 1
	}
	for _, t := range []struct {
		key, title string
		notes      []string
		all        []regime
	}{
		{"policies", "Policies, where 1 GB is paged out, or in, in 3 s", []string{
			"The text, section 5.5: short jobs' p95 is 183 s with reserve, 176 s with kill, 118 s with IP, 96 s with GP. Long jobs' p90 with GP is 67 % below",
			"kill, 37 % below IP, 32 % below reserve, 4 % above FIFO. Kill makes 23 % of the long jobs fail, IP and GP none. Over 80 % of the cluster are used for",
			"over 60 % of the time; reserve rarely uses more than 60 %.",
			"would fail: long jobs of which some task lost four containers. YARN doesn't count a preempted container as a failed attempt.",
		}, policies(theirDisks)},
		{"tries", "How often there must be room before a container resumes, where 1 GB is paged out, or in, in 3 s", []string{
			"The text, section 5.3: with D = 0 short jobs start up to 80 s late; D = 3 removes that, and more gains little.",
		}, tries},
		{"quick", "Policies, where 1 GB is paged out, or in, in 0.5 s", nil, policies(ourDisks)},
		{"orders", "Who is suspended first, with 0.5 s a GB", []string{"The text has the order by remaining time only."}, orders},
		{"bounds", "For how long a container may be suspended in all, with 0.5 s a GB", nil, bounds},
		{"steps", "How much graceful preemption takes at a time, with " + o.Text("disk") + " s a GB", []string{
			"The text, figure 7b: the coefficient of variation of long jobs' times grows with the step, and is below those of kill and IP.",
		}, steps},
	} {
		if !o.On("tables", t.key) {
			continue
		}
		for i := range t.all {
			t.all[i].trace = &trace
		}
		if err := regimes(o.Seeds, s, Table{Key: t.key, Title: t.title, Notes: t.notes}, t.all, func(x *regime) func(uint64) (*replay, error) { return x.run }, t.key == "policies"); err != nil {
			return nil, err
		}
	}
	for _, t := range []struct {
		key  string
		fill func(*Options, *Study) error
	}{{"patterns", patterns}, {"burst", burst}, {"causes", burstCauses}, {"own-node", ownNode}} {
		if !o.On("tables", t.key) {
			continue
		}
		if err := t.fill(o, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// regimes runs each regime, and adds a table of their figures.
func regimes(seeds Seeds, s *Study, t Table, all []regime, run func(*regime) func(uint64) (*replay, error), draw bool) error {
	t.Columns = suspensionColumns
	results := make([]figures, len(all))
	var kill, fifo *figures
	for i := range all {
		f, first, err := all[i].figuresOf(seeds, run(&all[i]))
		if err != nil {
			return err
		}
		results[i] = f
		switch all[i].name {
		case byKill:
			kill = &results[i]
		case byFIFO:
			fifo = &results[i]
		}
		if draw {
			s.Cores = append(s.Cores, first.line)
		}
	}
	for i := range all {
		t.Add(all[i].name, results[i].cells(kill, fifo)...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}
