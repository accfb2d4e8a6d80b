package study

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"heddle/rm/queue/suspension"
	"heddle/sim"
	"heddle/yarn/records"
)

// demand is the part of the cluster that short jobs ask for at a time, in s, in one of the patterns of figure 5a.
type demand struct {
	name string
	at   func(second float64) float64
}

// What figure 5a shows: 900 s with a base of 20 %, and bursts between 300 and 700 s.
const (
	lasting   = 900.
	base      = 0.2
	burstFrom = 300.
	burstTo   = 700.
)

var demands = []demand{
	{"low", func(t float64) float64 { return inBurst(t, .4) }},
	{"high", func(t float64) float64 { return inBurst(t, .9) }},
	{"multi", func(t float64) float64 {
		if t >= 300 && t < 450 || t >= 550 && t < 700 {
			return .8
		}
		return base
	}},
}

func inBurst(t, part float64) float64 {
	if t >= burstFrom && t < burstTo {
		return part
	}
	return base
}

// long is a kind of long job: its containers, how long they run, and what its second stage has.
type long struct {
	name    string
	sizes   []records.Resource
	tasks   int
	mean    float64
	reduces int // of 1 core and 4 GB
	reduce  float64
}

// The long jobs of section 5.2. The text says neither how many containers a job has nor how long these last.
var longs = []long{
	{"Spark", []records.Resource{records.NewResource(16<<10, 8), records.NewResource(32<<10, 8), records.NewResource(32<<10, 16)}, 8, 200, 0, 0},
	{"wordcount", []records.Resource{records.NewResource(2<<10, 1)}, 200, 30, 10, 30},
	{"terasort", []records.Resource{records.NewResource(2<<10, 1)}, 100, 25, 50, 150},
}

// mix makes the jobs of a pattern: long ones that keep about 80 % of the cluster busy, and short ones by a demand; nil: none.
func (l *long) mix(seed uint64, of *demand) (jobs []sim.Job) {
	random := rand.New(rand.NewPCG(seed, 9))
	stage := func(n int, mean float64, size records.Resource, priority int32) (s sim.Stage, work sim.Time) {
		s = sim.Stage{Priority: priority, Resource: size}
		for range n {
			d := sim.Time(mean * (.5 + random.Float64()) * 1e9)
			s.Tasks = append(s.Tasks, sim.Task{Duration: d})
			work += d
		}
		return s, work
	}
	at := 0.
	for i := 0; at < lasting; i++ {
		j := sim.Job{Name: fmt.Sprint("long", i), Submit: sim.Time(at * 1e9), Queue: "root.long", User: "u", Estimate: sim.Time(l.mean * 1e9)}
		size := l.sizes[i%len(l.sizes)]
		s, work := stage(l.tasks, l.mean, size, 1)
		j.Stages, j.Work = []sim.Stage{s}, work
		demanded := l.mean * float64(l.tasks) * float64(size.VCores())
		if l.reduces > 0 {
			s, more := stage(l.reduces, l.reduce, records.NewResource(4<<10, 1), 2)
			j.Stages, j.Work = append(j.Stages, s), j.Work+more
			demanded += l.reduce * float64(l.reduces)
		}
		jobs = append(jobs, j)
		at += random.ExpFloat64() * demanded / (.8 * nodes * cores)
	}
	const tasks, seconds = 10, shortMean
	for at := 0.; of != nil && at < lasting; {
		s, work := stage(tasks, seconds, records.NewResource(4<<10, 4), 1)
		jobs = append(jobs, sim.Job{
			Name: fmt.Sprint("short", len(jobs)), Submit: sim.Time(at * 1e9), Queue: "root.short", User: "u", Estimate: sim.Time(shortMean * 1e9),
			Stages: []sim.Stage{s}, Work: work,
		})
		at += random.ExpFloat64() * tasks * seconds * 4 / (of.at(at) * nodes * cores)
	}
	slices.SortStableFunc(jobs, func(a, b sim.Job) int { return int(min(max(a.Submit-b.Submit, -1), 1)) })
	return jobs
}

// patterns is figures 5 and 6: each pattern of short jobs beside Spark's and MapReduce's long ones.
func patterns(o *Options, s *Study) error {
	for i := range longs {
		for k := range demands {
			l, of := &longs[i], &demands[k]
			t := Table{
				Key: l.name + ", " + of.name, Title: fmt.Sprintf("Long jobs of %s, %s load of short ones for 900 s, with 3 s a GB", l.name, of.name),
				Notes: []string{"The text, section 5.2: long Spark jobs' p90 with GP is 13, 61 and 17 % above FIFO with low, high and multi; with kill 140 % in the mean; kill fails 13, 15 and 20 % of the jobs."},
			}
			run := func(x *regime) func(uint64) (*replay, error) {
				return func(seed uint64) (*replay, error) { return x.serve(l.mix(seed, of)) }
			}
			if err := regimes(o.Seeds, s, t, policies(theirDisks), run, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// burst is figure 2: what a burst of short jobs that kills containers adds to long jobs, and what suspension adds.
func burst(o *Options, s *Study) error {
	t := Table{
		Key: "burst", Title: "What a burst of short jobs adds to long jobs' mean time, in percent of the time without any", Columns: []string{"long jobs", "kill", "IP", "GP"},
		Notes: []string{"The text, figure 2: killing slows MapReduce down by 8 to 64 %, Spark by 70 % in the mean and 92 % at most."},
	}
	for i := range longs {
		l := &longs[i]
		mean := func(x regime, of *demand) (all sample, err error) {
			for seed := range o.Seeds.All() {
				r, err := x.serve(l.mix(seed, of))
				if err != nil {
					return nil, err
				}
				var times sample
				for _, d := range r.Latencies(func(o *sim.Outcome) bool { return !isShort(o.Name) }) {
					times = append(times, d.Seconds())
				}
				all = append(all, times.Mean())
			}
			return all, nil
		}
		alone, err := mean(regime{means: suspension.Spare, paging: theirDisks}, nil)
		if err != nil {
			return err
		}
		var cells []Cell
		for _, x := range []regime{{means: suspension.Kill, paging: theirDisks}, suspending(suspension.Immediate, theirDisks), suspending(suspension.Graceful, theirDisks)} {
			slowed, err := mean(x, &demands[1])
			if err != nil {
				return err
			}
			cells = append(cells, slowed.Change(alone))
		}
		t.Add(l.name, cells...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// ofLength returns long jobs of as much work whose tasks run so many times as long.
func (l long) ofLength(times float64) long {
	l.mean, l.tasks = l.mean*times, max(1, int(float64(l.tasks)/times))
	if l.reduces > 0 {
		l.reduce, l.reduces = l.reduce*times, max(1, int(float64(l.reduces)/times))
	}
	return l
}

// burstCauses tries what may make suspension dearer than killing beside a high load of short jobs: the disks' speed, and how long a task runs, which the text doesn't
// say. A killed task loses half of its time in the mean, a suspended one what its memory takes to go out and in.
func burstCauses(o *Options, s *Study) error {
	for i := range longs {
		t := Table{
			Key: "causes, " + longs[i].name, Title: fmt.Sprintf("Long jobs of %s beside a high load of short ones: their p90 against killing, in percent", longs[i].name),
			Columns: []string{"what differs", "IP", "GP", "GP against FIFO", "hours lost by killing", "suspended with GP"},
		}
		for _, x := range []struct {
			name   string
			paging sim.Paging
			times  float64
		}{
			{"nothing: 3 s a GB", theirDisks, 1},
			{"0.5 s a GB", ourDisks, 1},
			{"paging takes no time", sim.Paging{}, 1},
			{"tasks run four times as long, a job has a fourth of them", theirDisks, 4},
			{"the same, and paging takes no time", sim.Paging{}, 4},
		} {
			l := longs[i].ofLength(x.times)
			var all [4]figures
			for k, r := range []regime{
				{name: byFIFO, single: true, means: suspension.Spare, paging: x.paging},
				{name: byKill, means: suspension.Kill, paging: x.paging},
				suspending(suspension.Immediate, x.paging), suspending(suspension.Graceful, x.paging),
			} {
				var err error
				if all[k], _, err = r.figuresOf(o.Seeds, func(seed uint64) (*replay, error) { return r.serve(l.mix(seed, &demands[1])) }); err != nil {
					return err
				}
			}
			fifo, kill, ip, gp := &all[0], &all[1], &all[2], &all[3]
			t.Add(x.name, ip.tail.Change(kill.tail), gp.tail.Change(kill.tail), gp.tail.Change(fifo.tail), kill.lost.Cell(1), gp.suspended.Cell(0))
		}
		s.Tables = append(s.Tables, t)
	}
	return nil
}

// ownNode tries the same where paging takes no time and one node is as large as all: what it is to wait for one's own node, which a killed task doesn't.
func ownNode(o *Options, s *Study) error {
	t := Table{
		Key: "own node", Title: "Long jobs beside a high load of short ones where one node has what all have, and paging takes no time: their p90 with GP against killing",
		Columns: []string{"long jobs", "as they are", "tasks four times as long", "suspended with GP"},
	}
	for i := range longs {
		var cells []Cell
		var suspended sample
		for _, times := range []float64{1, 4} {
			l := longs[i].ofLength(times)
			var all [2]figures
			for k, r := range []regime{{name: byKill, means: suspension.Kill}, suspending(suspension.Graceful, sim.Paging{})} {
				r.joined = true
				var err error
				if all[k], _, err = r.figuresOf(o.Seeds, func(seed uint64) (*replay, error) { return r.serve(l.mix(seed, &demands[1])) }); err != nil {
					return err
				}
			}
			cells = append(cells, all[1].tail.Change(all[0].tail))
			if times == 1 {
				suspended = all[1].suspended
			}
		}
		t.Add(longs[i].name, append(cells, suspended.Cell(0))...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}
