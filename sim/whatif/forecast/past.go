package forecast

import (
	"math/rand/v2"
	"slices"

	"heddle/sim/whatif/load"
)

// past holds what a record tells of how long containers run, and of what applications do.
type past struct {
	load  *load.Load
	like  map[string][]int // applications that began and ended within the record, by name, queue and user, by queue and user, and by queue
	lives map[string][]int64
	all   []int64
}

// enough lives, or applications, of the closest likeness that has so many are drawn from.
const enough = 4

func newPast(l *load.Load) *past {
	p := &past{load: l, like: map[string][]int{}, lives: map[string][]int64{}}
	for i := range l.Apps {
		a := &l.Apps[i]
		for k := range a.Attempts {
			p.collect(a, &a.Attempts[k])
		}
		if a.Before || a.Cut || len(a.Attempts) == 0 || a.Withdrawn > 0 {
			continue
		}
		for _, key := range keys(a) {
			p.like[key] = append(p.like[key], i)
		}
	}
	for _, list := range p.lives {
		slices.Sort(list)
	}
	slices.Sort(p.all)
	return p
}

// keys name how applications are alike, the closest likeness first.
func keys(a *load.App) []string {
	name := a.Name
	if name == a.ID {
		name = ""
	}
	return []string{name + "\x00" + a.Queue + "\x00" + a.User, "\x01" + a.Queue + "\x00" + a.User, "\x02" + a.Queue, "\x03"}
}

// lifeKeys name how containers of a priority are alike.
func lifeKeys(a *load.App, priority int32) []string {
	list := []string{a.ID}
	list = append(list, keys(a)...)
	for i := range list {
		list[i] += "\x00" + string(rune(priority&0xffff))
	}
	return list
}

func (p *past) collect(a *load.App, at *load.Attempt) {
	for i := range at.Kinds {
		k := &at.Kinds[i]
		for _, l := range k.Lives {
			if l.Ends != load.Done && l.Ends != load.WithIt {
				continue
			}
			p.all = append(p.all, l.MS)
			for _, key := range lifeKeys(a, k.Priority) {
				p.lives[key] = append(p.lives[key], l.MS)
			}
		}
	}
}

// life draws how long a container of an application runs that has run for some ms already, all in all.
func (p *past) life(a *load.App, priority int32, ran int64, r *rand.Rand) int64 {
	for _, key := range lifeKeys(a, priority) {
		if ms, ok := longer(p.lives[key], ran, enough, r); ok {
			return ms
		}
	}
	if ms, ok := longer(p.all, ran, 1, r); ok {
		return ms
	}
	return ran + max(int64(float64(ran)*r.Float64()*2), 1) // none ran as long as this one
}

// longer draws one of those that are longer, if there are so many of them: of few the next one would be drawn too often, and what still runs is not among them.
func longer(sorted []int64, than int64, few int, r *rand.Rand) (int64, bool) {
	at, _ := slices.BinarySearch(sorted, than+1)
	if rest := sorted[at:]; len(rest) >= few {
		return rest[r.IntN(len(rest))], true
	}
	return 0, false
}

// alike draws an application that has ended and is like another one, and of which the last attempt made more requests than some; nil: there is none.
func (p *past) alike(a *load.App, asks int, r *rand.Rand) *load.App {
	for _, key := range keys(a) {
		var fit []int
		for _, i := range p.like[key] {
			if x := &p.load.Apps[i]; len(x.Attempts[len(x.Attempts)-1].Asks) >= asks {
				fit = append(fit, i)
			}
		}
		if len(fit) >= enough || len(fit) > 0 && key == "\x03" {
			return &p.load.Apps[fit[r.IntN(len(fit))]]
		}
	}
	return nil
}
