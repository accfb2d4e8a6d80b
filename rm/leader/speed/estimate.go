package speed

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"heddle/yarn/records"
)

// voice is what one user says of a node.
type voice struct {
	user         string
	slow, weight float64
}

// estimate finds out how slow nodes are. What is known already is where it begins.
func (s *Speeds) estimate(now time.Time) {
	for id, a := range s.apps {
		if now.Sub(a.heard) >= lifetime {
			delete(s.apps, id)
		}
	}
	ids := slices.SortedFunc(maps.Keys(s.apps), func(x, y records.ApplicationID) int {
		return cmp.Or(cmp.Compare(s.apps[x].user, s.apps[y].user), x.Compare(y))
	})
	for len(s.fades) < int(lifetime/time.Minute) {
		s.fades = append(s.fades, math.Exp2(-float64(len(s.fades))*time.Minute.Seconds()/halfLife.Seconds()))
	}
	for t := range types {
		for range turns {
			s.turn(now, ids, t)
		}
		s.centre(t)
	}
}

// turn finds sizes of applications by the slowness of nodes, and that by those.
func (s *Speeds) turn(now time.Time, ids []records.ApplicationID, t int) {
	for len(s.voices) < len(s.hosts) {
		s.voices = append(s.voices, nil)
	}
	voices, at := s.voices, s.second(now)
	for i := range voices {
		voices[i] = voices[i][:0]
	}
	for _, id := range ids {
		a := s.apps[id]
		if !a.has[t] {
			continue
		}
		size, ok := s.size(at, a, t)
		if !ok {
			continue
		}
		for i := range a.of {
			w := s.weight(&a.of[i], at, t)
			if w == 0 {
				continue
			}
			v := len(voices[i]) - 1 // applications come by user
			if v < 0 || voices[i][v].user != a.user {
				v, voices[i] = v+1, append(voices[i], voice{user: a.user})
			}
			slow := min(max(float64(a.of[i].mean[t])-size, -most), most)
			voices[i][v].slow, voices[i][v].weight = voices[i][v].slow+w*slow, voices[i][v].weight+w
		}
	}
	for i := range s.hosts {
		h := &s.hosts[i]
		if h.known[t] = len(voices[i]) > 0; h.known[t] {
			h.slow[t] = middle(voices[i])
		} else {
			h.slow[t] = 0
		}
	}
}

// size is how long an application's tasks take on a node like the others: the mean over its nodes, without their slowness. Nodes that others
// know as well say more of it than those that it alone knows.
func (s *Speeds) size(now int32, a *app, t int) (size float64, ok bool) {
	sum, all := 0., 0.
	for i := range a.of {
		if w := s.weight(&a.of[i], now, t); w > 0 {
			sum, all = sum+w*(float64(a.of[i].mean[t])-s.hosts[i].slow[t]), all+w
		}
	}
	return sum / all, all > 0
}

// weight is how much a report counts.
func (s *Speeds) weight(x *seen, now int32, t int) float64 {
	age := int(max(0, now-x.at[t])) / 60
	if x.n[t] == 0 || age >= len(s.fades) {
		return 0
	}
	return float64(x.n[t]) * s.fades[age]
}

// middle is what the middle one of the voices says, or the mean of the two in the middle.
func middle(voices []voice) float64 {
	all := make([]float64, 0, len(voices))
	for _, v := range voices {
		all = append(all, v.slow/v.weight)
	}
	slices.SortFunc(all, cmp.Compare[float64])
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// centre has the known nodes take as long as before on average: only differences mean anything.
func (s *Speeds) centre(t int) {
	sum, n := 0., 0.
	for i := range s.hosts {
		if s.hosts[i].known[t] {
			sum, n = sum+s.hosts[i].slow[t], n+1
		}
	}
	for i := range s.hosts {
		if h := &s.hosts[i]; h.known[t] {
			h.slow[t] -= sum / n
		}
	}
}
