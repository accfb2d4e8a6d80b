package divider

import (
	"fmt"
	"slices"
	"testing"
)

// The example of figures 2.1 to 2.3. It needs 6 slots: with 7 each policy ends B at 6. A straggler is seen once a task has run for 1, and
// copied if it has longer to run than a copy takes. A job's copies go before its new tasks.

// work is a task of the example.
type work struct {
	name           string
	original, copy int // how long they take
	begun, copied  int // when they began; -1: not yet
	done           bool
}

// party is a job of the example.
type party struct {
	works []*work
	ended int
}

func example() []*party {
	make := func(name string, originals, copies []int) *party {
		p := &party{}
		for i := range originals {
			p.works = append(p.works, &work{fmt.Sprint(name, i+1), originals[i], copies[i], -1, -1, false})
		}
		return p
	}
	return []*party{
		make("A", []int{8, 3, 3, 3}, []int{2, 2, 2, 2}),
		make("B", []int{6, 6, 3, 3, 1, 1}, []int{2, 2, 2, 2, 1, 1}),
	}
}

// left is how many tasks haven't ended.
func (p *party) left() (n int) {
	for _, w := range p.works {
		if !w.done {
			n++
		}
	}
	return n
}

// holds is how many slots it has, originals and copies.
func (p *party) holds() (originals, copies int) {
	for _, w := range p.works {
		if !w.done && w.begun >= 0 {
			originals++
		}
		if !w.done && w.copied >= 0 {
			copies++
		}
	}
	return originals, copies
}

// straggler is the task with most left of those that are worth a copy now, fresh one that hasn't begun; nil if there is none.
func (p *party) straggler(now int) (worst *work) {
	for _, w := range p.works {
		left := w.begun + w.original - now
		if !w.done && w.begun >= 0 && w.copied < 0 && now-w.begun >= 1 && left > w.copy && (worst == nil || left > worst.begun+worst.original-now) {
			worst = w
		}
	}
	return worst
}

func (p *party) fresh() *work {
	if i := slices.IndexFunc(p.works, func(w *work) bool { return w.begun < 0 }); i >= 0 {
		return p.works[i]
	}
	return nil
}

// run runs the example in 6 slots. next says which job gets a slot at most: it lists jobs by turn, and may leave out those that get none.
func run(budget int, next func([]*party) []*party) (a, b int, log []string) {
	const slots = 6
	jobs := example()
	for now := 0; jobs[0].left()+jobs[1].left() > 0; now++ {
		for _, p := range jobs {
			for _, w := range p.works {
				if !w.done && w.begun >= 0 && (now >= w.begun+w.original || w.copied >= 0 && now >= w.copied+w.copy) {
					if w.done = true; p.left() == 0 {
						p.ended = now
					}
				}
			}
		}
		for begun := true; begun; {
			begun = false
			originals, copies := 0, 0
			for _, p := range jobs {
				o, c := p.holds()
				originals, copies = originals+o, copies+c
			}
			for _, p := range next(jobs) {
				if originals+copies == slots {
					break
				}
				if w := p.straggler(now); w != nil && (budget == 0 || copies < budget) {
					w.copied, begun = now, true
					log = append(log, fmt.Sprint(now, w.name, "+"))
				} else if w := p.fresh(); w != nil && originals < slots-budget {
					w.begun, begun = now, true
					log = append(log, fmt.Sprint(now, w.name))
				}
				if begun {
					break
				}
			}
		}
	}
	return jobs[0].ended, jobs[1].ended, log
}

func srpt(jobs []*party) []*party {
	return slices.SortedStableFunc(slices.Values(jobs), func(a, b *party) int { return a.left() - b.left() })
}

func fair(jobs []*party) []*party {
	return slices.SortedStableFunc(slices.Values(jobs), func(a, b *party) int {
		ao, ac := a.holds()
		bo, bc := b.holds()
		return ao + ac - bo - bc
	})
}

// hopper lists the jobs that have less than their slots. Nothing is lent.
func hopper(beta float64) func(jobs []*party) []*party {
	return func(jobs []*party) (turn []*party) {
		var d Divider
		var list []Job
		var of []*party
		for _, p := range jobs {
			if n := p.left(); n > 0 {
				list, of = append(list, Job{Tasks: float64(n), Size: 1, Alpha: 1, Beta: beta}), append(of, p)
			}
		}
		order := d.Divide(list, 6, 1)
		d.Round(6)
		for _, i := range order {
			if o, c := of[i].holds(); int64(o+c) < list[i].Containers {
				turn = append(turn, of[i])
			}
		}
		return turn
	}
}

func TestFigures21To23(t *testing.T) {
	for _, c := range []struct {
		what   string
		budget int
		next   func([]*party) []*party
		a, b   int
		log    string
	}{
		{"SRPT, best effort", 0, srpt, 5, 8, "[0A1 0A2 0A3 0A4 0B1 0B2 3A1+ 3B1+ 3B2+ 5B3 5B4 5B5 5B6]"},
		{"fair, best effort", 0, fair, 6, 8, "[0A1 0B1 0A2 0B2 0A3 0B3 3A1+ 3A4 3B1+ 5B4 5B5 5B6]"},
		{"SRPT, 2 of 6 for copies", 2, srpt, 3, 7, "[0A1 0A2 0A3 0A4 1A1+ 3B1 3B2 3B3 3B4 4B1+ 4B2+ 6B5 6B6]"},
		{"fair, 2 of 6 for copies", 2, fair, 6, 8, "[0A1 0B1 0A2 0B2 1A1+ 1B1+ 3A3 3A4 3B2+ 3B3 5B4 6B5 6B6]"},
		{"Hopper", 0, hopper(1.6), 3, 6, "[0A1 0A2 0A3 0A4 0B1 1A1+ 3B1+ 3B2 3B3 3B4 3B5 4B2+ 5B6]"},
	} {
		a, b, log := run(c.budget, c.next)
		if a != c.a || b != c.b {
			t.Errorf("%s: A and B end at %d and %d, want %d and %d: %v", c.what, a, b, c.a, c.b, log)
		}
		if got := fmt.Sprint(log); got != c.log {
			t.Errorf("%s: %s, want %s", c.what, got, c.log)
		}
	}
	// With β = 1.8 A's virtual size is 4.44, and the whole slots in that are its four originals.
	if a, _, log := run(0, hopper(1.8)); a != 8 {
		t.Errorf("β = 1.8: A ends at %d, want 8: %v", a, log)
	}
}
