package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"heddle/sim/whatif/load"
	"heddle/sim/whatif/play"
)

// Options say how to forecast.
type Options struct {
	At   int64  // ms since 1970: when the job is submitted; 0 or earlier than the record's end: then
	Runs int    // 0: 40
	Seed uint64 // the same one gives the same answer
	// Wider is the factor by which bounds are wider than what the plays differ by (Widen); 0: 1.
	Wider float64
}

const defaultRuns = 40

// Answer says what would become of a job. Times are in seconds after its submission; -1: later than all that was played.
type Answer struct {
	At        int64      `json:"at"` // ms since 1970
	Queue     string     `json:"queue"`
	User      string     `json:"user"`
	Runs      int        `json:"runs"`
	Apps      int        `json:"applications"` // that ran or waited then
	Start     Bounds     `json:"start"`        // its first container
	End       Bounds     `json:"end"`
	Preempted []Affected `json:"preempted"` // who loses containers to it, or has them suspended, the likeliest first
}

// Bounds are the median, and what nine tenths of all plays are between.
type Bounds struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Affected is an application of which preemption takes more with the job than without.
type Affected struct {
	ID         string  `json:"id"` // empty: those that are submitted later, together
	Queue      string  `json:"queue"`
	User       string  `json:"user"`
	Part       float64 `json:"part"`       // of plays in which that is so
	Containers float64 `json:"containers"` // in these, on average
}

// leastLives is how many containers must have ended within a record to draw from.
const leastLives = 10

// Submit says what would become of a job that is submitted where a record ends. Errors say what of the job can't be, or why nothing can be said.
func Submit(l *load.Load, job load.App, o Options) (*Answer, error) {
	p := newPast(l)
	if len(p.all) < leastLives {
		return nil, fmt.Errorf("no answer: only %d containers ended within the record, which is too few to guess how long others run; record for longer", len(p.all))
	}
	at, runs := max(o.At, l.End), cmp.Or(o.Runs, defaultRuns)
	job.Submit = at + 2 // when what there is has been entered
	results := make([]outcome, runs)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range results {
		group.Go(func() (err error) {
			results[i], err = p.run(job, at, rand.New(rand.NewPCG(o.Seed, uint64(i))))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	a := &Answer{At: at, Queue: job.Queue, User: job.User, Runs: runs}
	for i := range l.Apps {
		if l.Apps[i].Cut {
			a.Apps++
		}
	}
	var starts, ends []float64
	for _, r := range results {
		starts, ends = append(starts, r.start), append(ends, r.end)
	}
	wider := max(o.Wider, 1)
	a.Start, a.End = boundsOf(starts).wider(wider), boundsOf(ends).wider(wider)
	a.Preempted = affected(results)
	return a, nil
}

// outcome is what came of one play.
type outcome struct {
	start, end float64
	taken      map[string]int // containers, by application
	who        map[string]*load.App
}

// horizon is how long, in ms, is played after as much time as the record has, in which nothing more is submitted.
const horizon = 7 * 24 * 3_600_000

// never stands for a time that wasn't reached.
const never = 1e18

func (p *past) run(job load.App, at int64, r *rand.Rand) (outcome, error) {
	l := p.scenario(at, r)
	with, err := play.Run(l, play.Options{Add: []load.App{job}, Only: true, Until: l.End + horizon})
	if err != nil {
		return outcome{}, errors.Join(errors.New("the job can't be submitted"), err)
	}
	mine := &with.Apps[len(l.Apps)]
	out := outcome{start: never, end: never}
	if mine.Granted >= 0 {
		out.start = float64(mine.Granted-at) / 1000
	}
	if mine.End >= 0 {
		out.end = float64(mine.End-at) / 1000
	}
	tree, _, err := l.Queues.Tree()
	if err != nil || tree == nil || !tree.Settings.Preemption.Enabled && !tree.Settings.Fair.Preemption {
		return out, err
	}
	without, err := play.Run(l, play.Options{Until: with.End})
	if err != nil {
		return out, err
	}
	out.taken, out.who = map[string]int{}, map[string]*load.App{}
	for i := range l.Apps {
		x, y := &with.Apps[i], &without.Apps[i]
		if more := int(x.Preempted + x.Suspended - y.Preempted - y.Suspended); more > 0 {
			out.taken[l.Apps[i].ID] += more
			out.who[l.Apps[i].ID] = &l.Apps[i]
		}
	}
	return out, nil
}

// boundsOf takes the 5th and the 95th of a hundred times.
func boundsOf(times []float64) Bounds {
	slices.Sort(times)
	pick := func(part float64) float64 {
		if v := times[int(part*float64(len(times)-1)+.5)]; v < never {
			return v
		}
		return -1
	}
	return Bounds{Median: pick(.5), Low: pick(.05), High: pick(.95)}
}

// least is in how large a part of plays an application must lose containers to be named.
const least = 0.1

func affected(results []outcome) []Affected {
	by := map[string]*Affected{}
	for i := range results {
		for id, n := range results[i].taken {
			a := by[id]
			if a == nil {
				a = &Affected{ID: id}
				if id != "" {
					a.Queue, a.User = results[i].who[id].Queue, results[i].who[id].User
				}
				by[id] = a
			}
			a.Part++
			a.Containers += float64(n)
		}
	}
	list := []Affected{}
	for _, a := range by {
		a.Containers /= a.Part
		if a.Part /= float64(len(results)); a.Part >= least {
			list = append(list, *a)
		}
	}
	slices.SortFunc(list, func(x, y Affected) int { return cmp.Or(cmp.Compare(y.Part, x.Part), cmp.Compare(x.ID, y.ID)) })
	return list
}
