package fresh

import (
	"fmt"
	"math"
	"slices"

	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
	"heddle/yarn/records"
)

// Name is what configurations call the policy.
const Name = "fresh"

func init() { leaf.RegisterStage(Name, func() leaf.Policy { return New() }) }

// Bounds of how long others wait for a stage that takes nothing, in ms.
const (
	patience = 3 * leaf.Interval // while there is room that others could take: nodes offer it each second
	idle     = 120_000           // in any case
)

// Policy is FRESH for one leaf. It implements leaf.Policy, leaf.Watcher and leaf.Explainer.
type Policy struct {
	book    stages.Book
	rated   int64 // the time of the rates by which applications are ordered, in ms
	work    work
	share   float64            // of the leaf that maps should have
	turn    stages.Stage       // whose turn it is; None: any stage's
	since   int64              // it has been since, or since it took something
	room    [stages.None]int64 // since when there is room for what a stage waits for; 0: there is none
	taken   int64              // when something was taken
	lost    [stages.None]bool  // stages that lost their turn, until they take something
	unlike  bool               // the turn has changed since the last Tick
	ready   [stages.None]int64 // requests that wait: reduces whose job has maps left don't count
	changes stages.Changes
}

// New returns the policy of a leaf.
func New() *Policy { return &Policy{turn: stages.None} }

// Ratio is r_i (equation 3.1): the job that has had least comes first.
func (p *Policy) Ratio(a leaf.App) float64 {
	j := p.book.Job(a.Handle)
	if j == nil {
		return 0
	}
	return p.book.Rate(j, p.rated)
}

// Cap is none.
func (p *Policy) Cap(leaf.App) records.Resource { return leaf.Uncapped() }

// Hold holds reduces back until the maps of their job end, unless there is spare room at the end of these, and a stage for the other's turn.
func (p *Policy) Hold(k leaf.Ask) (held bool, until int64) {
	s, rerun := stages.Of(&k.App, k.Priority)
	j := p.book.Job(k.App.Handle)
	if s == stages.None || rerun || j == nil {
		return false, 0
	}
	if s == stages.Reduce && j.MapsLeft() {
		return !j.Spare, math.MaxInt64
	}
	return p.turn == s.Other(), math.MaxInt64
}

// Why explains a hold.
func (p *Policy) Why(k leaf.Ask) string {
	s, _ := stages.Of(&k.App, k.Priority)
	j := p.book.Job(k.App.Handle)
	switch {
	case j == nil || s == stages.None:
		return ""
	case s == stages.Reduce && j.MapsLeft():
		m := &j.Of[stages.Map]
		return fmt.Sprintf("its reduces wait for its maps: %d of %d haven't ended, and %d of these are pending", m.Left(), m.Tasks(), m.Pending)
	}
	return fmt.Sprintf("it is the turn of %s: of the queue maps have %.0f %% and should have %.0f %%, as what is left of all maps is %.0f %% of the work",
		s.Other(), 100*p.book.Used(stages.Map), 100*p.share, 100*ratio(p.work.maps, p.work.reduces))
}

// Asked records a request.
func (p *Policy) Asked(k leaf.Ask) { p.changes.Note(p.book.Asked(k)) }

// Outputs are of no interest.
func (p *Policy) Outputs(leaf.App, int64, int64) {}

// Granted records a container.
func (p *Policy) Granted(a leaf.App, g leaf.Grant) {
	j, s := p.book.Granted(a, g)
	if s != stages.None {
		p.ready[s] = max(0, p.ready[s]-1)
		p.lost[s] = false
		p.taken = p.book.Now
		if s == p.turn {
			p.since = p.book.Now
		}
		p.decide()
	}
	p.changes.Note(j)
}

// Ended records the end of a container.
func (p *Policy) Ended(_ leaf.App, _ leaf.Node, o leaf.Outcome) {
	p.changes.Note(p.book.Ended(o))
}

// Left forgets an application.
func (p *Policy) Left(h handle.App) { p.book.Left(h) }

// Tick decides again whose turn it is. It returns the applications of which something is known again; all of them, where that concerns all.
func (p *Policy) Tick(now int64, q leaf.Queue) []handle.App {
	p.book.Tick(now, &q)
	if p.book.Due(now) {
		p.sum()
		p.look(&q)
	}
	p.decide()
	if now-p.rated >= leaf.Interval {
		p.rated, p.unlike = now, true
	}
	if p.unlike {
		p.changes.NoteAll(&p.book)
	}
	p.unlike = false
	return p.changes.Take()
}

// sum finds out how much work is left, and what waits.
func (p *Policy) sum() {
	b := &p.book
	w := work{total: 1, first: ending{left: math.Inf(1)}, mapSlots: b.Used(stages.Map)}
	p.ready = [stages.None]int64{}
	for _, j := range b.Jobs {
		if !j.Stages {
			continue
		}
		if b.Early(j, 0) {
			p.changes.Note(j)
		}
		m, r := &j.Of[stages.Map], &j.Of[stages.Reduce]
		p.ready[stages.Map] += m.Pending
		if !j.MapsLeft() {
			w.reduces += b.Work(j, stages.Reduce)
			p.ready[stages.Reduce] += r.Pending
			w.releasing += b.Holds(j, stages.Reduce) / max(1e-3, b.Mean(j, stages.Reduce))
			continue
		}
		left := b.Work(j, stages.Map)
		w.maps, w.jobs, w.hasMaps = w.maps+left, w.jobs+1, true
		if left < w.first.left {
			w.first = ending{left: left, progress: m.Progress(), slots: b.Holds(j, stages.Map), reduces: b.Work(j, stages.Reduce)}
		}
	}
	p.work, p.share = w, w.expected()
}

// look finds out for which stages there is room.
func (p *Policy) look(q *leaf.Queue) {
	now := p.book.Now
	for s := range p.room {
		fits := slices.ContainsFunc(p.book.Jobs, func(j *stages.Job) bool {
			t := &j.Of[s]
			return j.Stages && t.Pending > 0 && t.Size.FitsIn(q.Free) && (stages.Stage(s) == stages.Map || !j.MapsLeft())
		})
		switch {
		case !fits:
			p.room[s] = 0
		case p.room[s] == 0:
			p.room[s] = leaf.Moment(now)
		}
	}
}

// stands reports whether there has been room for a stage for so long, and nothing was taken meanwhile, that only that stage can be
// expected to take it.
func (p *Policy) stands(s stages.Stage) bool {
	return p.room[s] != 0 && p.book.Now-max(p.room[s], p.taken) >= patience
}

// decide says whose turn it is: algorithm 3.3.2, where both stages wait.
func (p *Policy) decide() {
	turn := stages.None
	if p.ready[stages.Map] > 0 && p.ready[stages.Reduce] > 0 {
		if turn = stages.Reduce; p.share > p.book.Used(stages.Map) {
			turn = stages.Map
		}
		if p.lost[turn] || p.loses(turn) {
			p.lost[turn] = true
			turn = stages.None
		}
	}
	if turn != p.turn {
		p.turn, p.since, p.unlike = turn, p.book.Now, true
	}
}

// loses reports whether a stage that has its turn has taken nothing for too long.
func (p *Policy) loses(turn stages.Stage) bool {
	return turn == p.turn && (p.stands(turn.Other()) || p.book.Now-p.since >= idle)
}
