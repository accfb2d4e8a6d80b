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

// sorter finds out how slow nodes are, from copies, in the background.
type sorter struct {
	hosts  []slowness // by index of the host; known values are where a sorting begins
	voices [][]voice  // by index of the host
	seen   []seen     // by an application
	values []float64  // kept for its memory
	fades  []float64  // by age in minutes: how much a report counts
}

type slowness struct {
	came  int64          // version of the host
	fixed float64        // its speed by the configuration; 0: there is none
	slow  [types]float64 // ln of how many times as long tasks take; 0 if unknown
	known [types]bool
}

// estimate finds out how slow the nodes are that came up to a version, which it returns.
func (s *sorter) estimate(of *Speeds, now time.Time) (version int64) {
	version, ids := s.begin(of, now)
	for len(s.fades) < int(lifetime/time.Minute) {
		s.fades = append(s.fades, math.Exp2(-float64(len(s.fades))*time.Minute.Seconds()/halfLife.Seconds()))
	}
	for t := range types {
		for range rounds {
			s.round(of, of.second(now), ids, t)
		}
		s.centre(t)
	}
	return version
}

// begin notes which hosts there are, and returns the applications that something is still known of, by user.
func (s *sorter) begin(of *Speeds, now time.Time) (version int64, ids []records.ApplicationID) {
	of.mu.Lock()
	defer of.mu.Unlock()
	for id, a := range of.apps {
		if now.Sub(a.heard) >= lifetime {
			delete(of.apps, id)
		}
	}
	ids = slices.SortedFunc(maps.Keys(of.apps), func(x, y records.ApplicationID) int {
		return cmp.Or(cmp.Compare(of.apps[x].user, of.apps[y].user), x.Compare(y))
	})
	for len(s.hosts) < len(of.hosts) {
		s.hosts, s.voices = append(s.hosts, slowness{}), append(s.voices, nil)
	}
	for i := range s.hosts {
		if came := of.hosts[i].came; s.hosts[i].came != came {
			s.hosts[i] = slowness{came: came, fixed: of.hosts[i].fixed}
		}
	}
	return of.version, ids
}

// look copies what an application has seen of the hosts, unless it is forgotten or has run no tasks of the type.
func (s *sorter) look(of *Speeds, id records.ApplicationID, t int) (user string, ok bool) {
	of.mu.Lock()
	defer of.mu.Unlock()
	a := of.apps[id]
	if a == nil || !a.has[t] {
		return "", false
	}
	s.seen = append(s.seen[:0], a.of[:min(len(a.of), len(s.hosts))]...)
	return a.user, true
}

// round finds sizes of applications by the slowness of nodes, and that by those.
func (s *sorter) round(of *Speeds, at int32, ids []records.ApplicationID, t int) {
	voices := s.voices
	for i := range voices {
		voices[i] = voices[i][:0]
	}
	for _, id := range ids {
		user, ok := s.look(of, id, t)
		if !ok {
			continue
		}
		size, ok := s.size(at, t)
		if !ok {
			continue
		}
		for i := range s.seen {
			w := s.weight(&s.seen[i], at, t)
			if w == 0 {
				continue
			}
			v := len(voices[i]) - 1 // applications come by user
			if v < 0 || voices[i][v].user != user {
				v, voices[i] = v+1, append(voices[i], voice{user: user})
			}
			slow := min(max(float64(s.seen[i].mean[t])-size, -most), most)
			voices[i][v].slow, voices[i][v].weight = voices[i][v].slow+w*slow, voices[i][v].weight+w
		}
	}
	for i := range s.hosts {
		h := &s.hosts[i]
		if h.known[t] = len(voices[i]) > 0; h.known[t] {
			h.slow[t] = s.middle(voices[i])
		} else {
			h.slow[t] = 0
		}
	}
}

// size returns how long an application's tasks take on a node like the others: the mean over its nodes, without their slowness. Nodes that others
// know as well say more of it than those that it alone knows.
func (s *sorter) size(now int32, t int) (size float64, ok bool) {
	sum, all := 0., 0.
	for i := range s.seen {
		if w := s.weight(&s.seen[i], now, t); w > 0 {
			sum, all = sum+w*(float64(s.seen[i].mean[t])-s.hosts[i].slow[t]), all+w
		}
	}
	return sum / all, all > 0
}

// weight returns how much a report counts.
func (s *sorter) weight(x *seen, now int32, t int) float64 {
	age := int(max(0, now-x.at[t])) / 60
	if x.n[t] == 0 || age >= len(s.fades) {
		return 0
	}
	return float64(x.n[t]) * s.fades[age]
}

// middle returns what the middle one of the voices says, or the mean of the two in the middle.
func (s *sorter) middle(voices []voice) float64 {
	all := s.values[:0]
	for _, v := range voices {
		all = append(all, v.slow/v.weight)
	}
	slices.Sort(all)
	s.values = all
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}

// centre scales factors so that the known nodes take as long as before on average: only differences mean anything.
func (s *sorter) centre(t int) {
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
