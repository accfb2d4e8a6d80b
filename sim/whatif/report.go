package whatif

import (
	"errors"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"heddle/sim/whatif/load"
	"heddle/sim/whatif/play"
)

// Report is the answer.
type Report struct {
	Record   Recorded  `json:"record"`
	Changes  []string  `json:"changes"` // what is other than then
	Backtest *Backtest `json:"backtest"`
	Cluster  Row       `json:"cluster"`
	// Partitions are by the labels of nodes, the default one's name being empty; none where no node has a label.
	Partitions []Row       `json:"partitions,omitempty"`
	Queues     []Row       `json:"queues"`
	Users      []Row       `json:"users"`
	Apps       []AppRow    `json:"apps"`   // all that began and ended within the record
	Losers     []Loser     `json:"losers"` // what grows beyond its error bars, the worst first
	Gainers    []Loser     `json:"gainers"`
	Added      []Added     `json:"added,omitempty"`
	Before     play.Series `json:"-"`
	After      play.Series `json:"-"`
}

// Recorded says what the record covers.
type Recorded struct {
	Begin      int64    `json:"begin"` // ms since 1970
	End        int64    `json:"end"`
	Nodes      int      `json:"nodes"`
	Apps       int      `json:"apps"`
	Containers int64    `json:"containers"`
	Sessions   int      `json:"sessions"`
	Cut        int      `json:"cut"`    // applications that ran when it began, or ended
	Torn       []string `json:"torn"`   // files whose last line is incomplete
	Notes      []string `json:"notes"`  // what was recorded, and isn't played, and what of the change has no effect
	Worked     int64    `json:"events"` // lines
}

// Row is a queue, a user or the cluster.
type Row struct {
	Name   string  `json:"name"`
	Then   Figures `json:"then"`   // recorded
	Before Figures `json:"before"` // the same, played
	After  Figures `json:"after"`  // played with what is other
	Bars   Bars    `json:"bars"`
}

// AppRow is an application's time, in seconds.
type AppRow struct {
	ID     string  `json:"id"`
	Name   string  `json:"name,omitempty"`
	Queue  string  `json:"queue"`
	User   string  `json:"user"`
	Then   float64 `json:"then"`
	Before float64 `json:"before"`
	After  float64 `json:"after"` // -1: it can't end
	Low    float64 `json:"low"`   // of After
	High   float64 `json:"high"`
	Wait   [2]Wait `json:"wait"` // before and after
}

// Wait is the wait of an application's containers.
type Wait struct {
	First float64 `json:"first"` // of the first one, in s
	Mean  float64 `json:"mean"`
}

// Loser is who waits or takes longer than the error bars allow for, or, among Gainers, shorter.
type Loser struct {
	Kind   string  `json:"kind"` // queue, user or application
	Name   string  `json:"name"`
	Figure string  `json:"figure"`
	Before float64 `json:"before"` // s
	After  float64 `json:"after"`  // s; -1: it can't end
}

// Added is an application that was added.
type Added struct {
	Name  string  `json:"name"`
	Queue string  `json:"queue"`
	Start float64 `json:"start"` // of its first container, s after its submission; -1: never
	All   float64 `json:"all"`   // until all its containers of the first request are granted
	End   float64 `json:"end"`
}

// Ask says what is asked.
type Ask struct {
	Options play.Options
	Changes []string // in words
	Notes   []string // on the change
	// Anyway answers even if the backtest fails.
	Anyway bool
}

// Answer plays a load under the configuration of then and under another one. It returns a *Refused if the first doesn't meet the record.
func Answer(l *load.Load, ask Ask) (*Report, error) {
	var then, now *play.Result
	var b *Backtest
	var plays errgroup.Group // both plays at once: each takes one processor
	var fails error          // of the changed one, which doesn't matter if there is no answer
	plays.Go(func() error {
		now, fails = play.Run(l, ask.Options)
		return nil
	})
	then, err := play.Run(l, play.Options{})
	if err == nil {
		b = backtest(l.Apps, then.Apps)
		if refused := b.refuse(); !ask.Anyway {
			err = refused
		}
	}
	if failed := plays.Wait(); err == nil {
		err = errors.Join(failed, fails)
	}
	if err != nil {
		return nil, err
	}
	others, err := playOthers(l, ask.Options)
	if err != nil {
		return nil, err
	}
	r := &Report{Changes: ask.Changes, Backtest: b, Before: then.Series, After: now.Series}
	r.Record = Recorded{
		Begin: l.Begin, End: l.End, Nodes: l.Nodes, Apps: len(l.Apps), Sessions: l.Sessions, Torn: l.Torn, Notes: slices.Concat(l.Notes, ask.Notes), Worked: l.Entries,
	}
	all := make([]int, len(l.Apps))
	for i := range l.Apps {
		all[i] = i
		r.Record.Containers += int64(l.Apps[i].Then.Containers)
		if l.Apps[i].Before || l.Apps[i].Cut {
			r.Record.Cut++
		}
	}
	t := &table{l, then, now, b, others}
	r.Cluster = t.row(group{"cluster", all}, b.All)
	r.Partitions = t.partitions()
	for _, g := range groups(l.Apps, func(a *load.App) string { return a.Queue }) {
		r.Queues = append(r.Queues, t.row(g, b.Queues[g.name]))
	}
	for _, g := range groups(l.Apps, func(a *load.App) string { return a.User }) {
		r.Users = append(r.Users, t.row(g, b.All))
	}
	r.Apps = t.apps()
	r.name()
	for i := range ask.Options.Add {
		r.Added = append(r.Added, added(&ask.Options.Add[i], &now.Apps[len(l.Apps)+i]))
	}
	return r, nil
}

// table has what rows come from.
type table struct {
	load        *load.Load
	before, now *play.Result
	backtest    *Backtest
	others      [][]int64
}

func (t *table) row(g group, bars Bars) Row {
	l := t.load
	thens := make([]load.Outcome, 0)
	if len(g.apps) > 0 {
		thens = make([]load.Outcome, len(l.Apps))
		for _, i := range g.apps {
			thens[i] = l.Apps[i].Then
		}
	}
	return Row{
		Name: g.name, Bars: t.wider(g, bars),
		Then:   figures(l.Apps, thens, g.apps, t.before.CapacityMS),
		Before: figures(l.Apps, t.before.Apps, g.apps, t.before.CapacityMS),
		After:  figures(l.Apps, t.now.Apps, g.apps, t.now.CapacityMS),
	}
}

// partitions returns the rows of partitions, if any node has a label.
func (t *table) partitions() (rows []Row) {
	labels := slices.Sorted(maps.Keys(t.before.Parts))
	if len(labels) == 0 || labels[len(labels)-1] == "" {
		return nil
	}
	for _, label := range labels {
		before, now, then := t.before.Parts[label], t.now.Parts[label], t.load.Parts[label]
		if now == nil {
			now = &play.Part{}
		}
		if then == nil {
			then = &load.Outcome{}
		}
		rows = append(rows, Row{
			Name: label, Bars: t.backtest.All, Then: partFigures(then, before.CapacityMS),
			Before: partFigures(&before.Outcome, before.CapacityMS), After: partFigures(&now.Outcome, now.CapacityMS),
		})
	}
	return rows
}

func (t *table) apps() (rows []AppRow) {
	for i := range t.load.Apps {
		a := &t.load.Apps[i]
		if !whole(a) {
			continue
		}
		x, y := &t.before.Apps[i], &t.now.Apps[i]
		row := AppRow{
			ID: a.ID, Name: a.Name, Queue: a.Queue, User: a.User, Then: seconds(a.Then.End - a.Submit), Before: -1, After: -1,
			Wait: [2]Wait{waitOf(a, x), waitOf(a, y)},
		}
		if row.Name == row.ID {
			row.Name = ""
		}
		if x.End >= 0 {
			row.Before = seconds(x.End - a.Submit)
		}
		if y.End >= 0 {
			row.After = seconds(y.End - a.Submit)
			bars := t.backtest.Queues[a.Queue]
			low, high := t.ends(i)
			row.Low, row.High = seconds(low-a.Submit)*bars.Low, seconds(high-a.Submit)*bars.High
		}
		rows = append(rows, row)
	}
	return rows
}

func waitOf(a *load.App, o *load.Outcome) Wait {
	w := Wait{First: -1, Mean: meanWait(o)}
	if o.Granted >= 0 {
		w.First = seconds(o.Granted - a.Submit)
	}
	return w
}

func added(a *load.App, o *load.Outcome) Added {
	x := Added{Name: a.Name, Queue: a.Queue, Start: -1, All: -1, End: -1}
	if o.Granted >= 0 {
		x.Start = seconds(o.Granted - a.Submit)
	}
	if o.End >= 0 {
		x.End = seconds(o.End - a.Submit)
	}
	return x
}

// noticed is the least change, in seconds, that is one.
const noticed = 1.0

// maxApps bounds the applications among losers, and among gainers.
const maxApps = 20

// name says who loses and who gains.
func (r *Report) name() {
	rows := func(kind string, list []Row) {
		for i := range list {
			r.judge(kind, &list[i])
		}
	}
	rows("queue", r.Queues)
	rows("user", r.Users)
	var worse, better []*AppRow
	for i := range r.Apps {
		a := &r.Apps[i]
		switch {
		case a.Before < 0:
		case a.After < 0 || a.Low > a.Before+noticed:
			worse = append(worse, a)
		case a.High < a.Before-noticed:
			better = append(better, a)
		}
	}
	slices.SortStableFunc(worse, func(x, y *AppRow) int {
		if (x.After < 0) != (y.After < 0) {
			if x.After < 0 {
				return -1
			}
			return 1
		}
		return byDelta(x, y)
	})
	slices.SortStableFunc(better, func(x, y *AppRow) int { return byDelta(y, x) })
	for _, a := range worse[:min(len(worse), maxApps)] {
		r.Losers = append(r.Losers, Loser{"application", a.ID, "time", a.Before, a.After})
	}
	for _, a := range better[:min(len(better), maxApps)] {
		r.Gainers = append(r.Gainers, Loser{"application", a.ID, "time", a.Before, a.After})
	}
}

func (r *Report) judge(kind string, row *Row) {
	b, a, bars := &row.Before, &row.After, &row.Bars
	if a.Unended > b.Unended {
		r.Losers = append(r.Losers, Loser{kind, row.Name, "applications that can't end", float64(b.Unended), float64(a.Unended)})
	}
	for _, f := range []struct {
		name          string
		before, after float64
		low, high     float64
	}{
		{"p90 wait", b.Wait.P90, a.Wait.P90, b.Wait.P90 + bars.Less, b.Wait.P90 + bars.More},
		{"p90 time", b.Time.P90, a.Time.P90, b.Time.P90 * bars.Low, b.Time.P90 * bars.High},
		{"p50 time", b.Time.P50, a.Time.P50, b.Time.P50 * bars.Low, b.Time.P50 * bars.High},
	} {
		switch x := (Loser{kind, row.Name, f.name, f.before, f.after}); {
		case f.after > f.high+noticed:
			r.Losers = append(r.Losers, x)
		case f.after < f.low-noticed:
			r.Gainers = append(r.Gainers, x)
		}
	}
}
