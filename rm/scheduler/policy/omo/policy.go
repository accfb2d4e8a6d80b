package omo

import (
	"fmt"
	"math"
	"time"

	"heddle/internal/omo"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// Name is what configurations call the policy.
const Name = "omo"

func init() { leaf.RegisterStage(Name, func() leaf.Policy { return New() }) }

// Policy is OMO for one leaf. It implements leaf.Policy, leaf.Watcher, leaf.Shuffler and leaf.Explainer.
type Policy struct {
	book    stages.Book
	release omo.Release
	jobs    []job   // by handle of the application
	running float64 // K
	waits   float64 // share of the leaf that reduces hold whose maps haven't ended
	largest float64 // share of the largest map that hasn't ended
	ahead   float64 // share that pending maps of jobs take whose reduces have begun
	changes stages.Changes

	bandwidth float64 // that nodes have measured; 0: none has
}

// job is OMO's state of a job.
type job struct {
	begun   bool    // its reduces have
	gap     float64 // α, when they began
	shuffle float64 // T_s, in seconds
	maps    float64 // how long they still take, in seconds
	gain    float64 // t_fair − t_batch; above 0, its maps come first
	stops   bool    // no map of it can run if a reduce takes what is free
}

// New returns the policy of a leaf.
func New() *Policy { return &Policy{} }

// of returns what is made of an application; nil if that has no stages.
func (p *Policy) of(h handle.App) (*stages.Job, *job) {
	j := p.book.Job(h)
	if j == nil || !j.Stages {
		return nil, nil
	}
	for len(p.jobs) <= int(h) {
		p.jobs = append(p.jobs, job{})
	}
	return j, &p.jobs[h]
}

// Ratio puts the three rules in their order: at -4 jobs that must have a map, from -3 on jobs whose reduces are to get slots, from -2 those whose maps come first, and from 0
// all others by what they hold.
func (p *Policy) Ratio(a leaf.App) float64 {
	held := p.book.Share(a.Used)
	j, x := p.of(a.Handle)
	switch {
	case j == nil || !x.begun:
		return held
	case p.stops(j):
		return -4
	case j.Of[stages.Reduce].Pending > 0 && j.MapsLeft():
		return -3 + squash(math.Round(math.Abs(x.gap))+squash(held))
	case x.gain > 0 && j.Of[stages.Map].Pending > 0:
		return -1 - squash(x.gain)
	}
	return held
}

// squash maps numbers from 0 on to those below 1.
func squash(x float64) float64 {
	if math.IsInf(x, 1) {
		return 1
	}
	return x / (1 + x)
}

// Cap is none.
func (p *Policy) Cap(leaf.App) records.Resource { return leaf.Uncapped() }

// Hold holds reduces back until they are to begin, while no map runs that would release them, and until there is room for a map beside them.
func (p *Policy) Hold(k leaf.Ask) (held bool, until int64) {
	s, _ := stages.Of(&k.App, k.Priority)
	j, x := p.of(k.App.Handle)
	if j == nil || s != stages.Reduce || !j.MapsLeft() {
		return false, 0
	}
	return !x.begun && !j.Spare || p.stops(j) || p.crowds(&k), math.MaxInt64
}

// crowds reports whether one more reduce that waits for maps would leave no room for these.
func (p *Policy) crowds(k *leaf.Ask) bool {
	return p.waits+p.book.Share(&k.Capability)+p.largest > 1+1e-9
}

// stops reports whether one more reduce of a job would leave its maps without any room: maps are pending, none runs, and nothing is free for one
// beside the reduce. Hadoop's ApplicationMaster, told that there is no room, ends a reduce at once then. The room went to the next
// reduce, as these come first, and so on.
func (p *Policy) stops(j *stages.Job) bool {
	m, r := &j.Of[stages.Map], &j.Of[stages.Reduce]
	return m.Pending > 0 && m.Running == 0 && m.Tasks() > m.Pending && !m.Size.Add(r.Size).FitsIn(p.book.Free)
}

// Why explains a hold.
func (p *Policy) Why(k leaf.Ask) string {
	j, x := p.of(k.App.Handle)
	if j == nil {
		return ""
	}
	m := &j.Of[stages.Map]
	switch {
	case x.begun && p.stops(j) && !p.crowds(&k):
		return fmt.Sprintf("its reduces wait: %d maps are pending, none runs, and there is no room for a map and a reduce", m.Pending)
	case x.begun || j.Spare:
		return fmt.Sprintf("reduces that wait for maps have %.0f %% of the queue, and no room would be left for a map", 100*p.waits)
	case !m.Known():
		return fmt.Sprintf("its reduces wait: %d maps are pending, and none of %d has ended yet", m.Pending, m.Tasks())
	case m.Pending == 0:
		return fmt.Sprintf("its reduces wait: no map is pending, the shuffle needs %s, the last maps need %s (%s)",
			seconds(x.shuffle), seconds(x.maps), p.basis(j))
	}
	return fmt.Sprintf("its reduces wait: %d maps are pending, the shuffle needs %s, the maps need %s (%s)",
		m.Pending, seconds(x.shuffle), seconds(x.maps), p.basis(j))
}

// basis is by what a shuffle is estimated, for people.
func (p *Policy) basis(j *stages.Job) string {
	if j.Outputs.Maps <= 0 {
		return "no map's output is known: it is taken to last as long as a map"
	}
	what := fmt.Sprintf("the outputs of %d maps have %.1f MB, each reduce", j.Outputs.Maps, float64(j.Outputs.Bytes)/(1<<20))
	if p.bandwidth > 0 {
		return fmt.Sprintf("%s fetches %.1f MB/s, as nodes have measured", what, p.bandwidth/(1<<20))
	}
	return fmt.Sprintf("%s is taken to fetch %d MB/s", what, omo.Bandwidth>>20)
}

func seconds(s float64) string {
	if math.IsInf(s, 1) {
		return "more than can be told"
	}
	return fmt.Sprintf("%.0f s", s)
}

// Asked records a request.
func (p *Policy) Asked(k leaf.Ask) { p.changes.Note(p.book.Asked(k)) }

// Outputs records the output of maps.
func (p *Policy) Outputs(a leaf.App, maps, bytes int64) {
	p.changes.Note(p.book.NoteOutputs(a, maps, bytes))
}

// Bandwidth records how fast outputs are fetched. Estimates follow with the next Tick that makes any.
func (p *Policy) Bandwidth(rate float64) { p.bandwidth = rate }

// Granted records a container.
func (p *Policy) Granted(a leaf.App, g leaf.Grant) {
	j, s := p.book.Granted(a, g)
	if s == stages.Reduce && j.MapsLeft() {
		p.waits += p.book.Share(&g.Resource)
	}
	if _, x := p.of(a.Handle); x != nil && s == stages.Reduce && !j.Spare {
		x.begun = true
	}
	p.changes.Note(j)
}

// Ended records the end of a container.
func (p *Policy) Ended(_ leaf.App, _ leaf.Node, o leaf.Outcome) {
	p.changes.Note(p.book.Ended(o))
}

// Left forgets an application.
func (p *Policy) Left(h handle.App) {
	p.book.Left(h)
	if int(h) < len(p.jobs) {
		p.jobs[h] = job{}
	}
}

// Tick makes the estimates again, and returns the applications for which something has changed by that.
func (p *Policy) Tick(now int64, q leaf.Queue) []handle.App {
	p.book.Tick(now, &q)
	if p.book.Due(now) {
		p.estimate()
	}
	return p.changes.Take()
}

// estimate finds out which reduces begin, and which maps come first.
func (p *Policy) estimate() {
	b := &p.book
	available := 0.
	p.running, p.waits, p.largest, p.ahead = 0, 0, 0, 0
	for _, j := range b.Jobs { // of those without stages nothing counts
		m, r := &j.Of[stages.Map], &j.Of[stages.Reduce]
		if m.Left()+r.Left() > 0 {
			p.running++
		}
		available += b.Holds(j, stages.Map)
		if j.MapsLeft() {
			p.waits += b.Holds(j, stages.Reduce)
			p.largest = max(p.largest, b.Share(&m.Size))
			if _, x := p.of(j.Handle); x.begun {
				p.ahead += float64(m.Pending) * b.Share(&m.Size)
			}
		} else {
			available += b.Holds(j, stages.Reduce)
		}
	}
	p.release.Observe(time.Duration(b.Now)*time.Millisecond, b.Released(), available)
	for _, j := range b.Jobs {
		if j.Stages {
			p.consider(j, available)
		}
	}
}

// consider makes the estimates for a job (algorithms 4.3.1 and 4.3.2).
func (p *Policy) consider(j *stages.Job, available float64) {
	_, x := p.of(j.Handle)
	before := *x
	m, r := &j.Of[stages.Map], &j.Of[stages.Reduce]
	mean := m.Mean()
	rate := p.release.Rate
	if !p.release.Known { // slots that are all busy with maps are released at this rate
		rate = omo.Rate{Frequency: available / max(mean, 1e-3), Available: available}
	}
	pending := float64(m.Pending) * p.book.Share(&m.Size)
	reduces := float64(r.Left()) * p.book.Share(&r.Size)
	x.shuffle, x.maps, x.gain = p.shuffle(j), 0, 0
	switch {
	case m.Left() == 0:
	case m.Pending == 0:
		x.maps = p.book.Rest(j)
	case !(pending > 0): // nothing of the leaf is there, so that maps have no share of it
		x.maps = math.Inf(1)
	default:
		x.maps = omo.Maps(pending, rate, p.released(pending, x), reduces, mean)
	}
	switch {
	case x.begun:
		if m.Pending > 0 && r.Left() > 0 {
			fair, batch := omo.Batch(pending, rate, p.running, reduces, mean)
			x.gain = max(0, fair-batch)
		}
	case r.Left() > 0 && (m.Left() == 0 || m.Known() && x.shuffle >= x.maps):
		x.begun, x.gap = true, x.shuffle-x.maps
	}
	x.stops = p.stops(j)
	if p.book.Early(j, x.shuffle) || x.stops != before.stops || x.begun != before.begun || math.Round(x.gain) != math.Round(before.gain) || (x.gain > 0) != (before.gain > 0) {
		p.changes.Note(j)
	}
}

// released returns how many slots are released for one that a job gets for its pending maps, K in equation 4.3. That is the number of jobs, as in
// the text, where each has the same. But maps of jobs whose reduces have begun come first, by batch finish: then it is what these have
// pending together, and the job itself, for what the job has pending.
func (p *Policy) released(pending float64, x *job) float64 {
	ahead := p.ahead
	if !x.begun {
		ahead += pending
	}
	return min(p.running, ahead/pending)
}

// shuffle is T_s of a job.
func (p *Policy) shuffle(j *stages.Job) float64 {
	m, r := &j.Of[stages.Map], &j.Of[stages.Reduce]
	if j.Outputs.Maps <= 0 {
		return m.Mean()
	}
	return omo.Shuffle(float64(j.Outputs.Bytes)/float64(j.Outputs.Maps), float64(m.Tasks()), p.bandwidth, float64(r.Tasks()))
}
