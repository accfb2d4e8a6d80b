package speed

import (
	"math"

	"heddle/internal/speedclass"
)

// Sort finds out how slow nodes are, by all that is known of them, and gives them classes. With 10,000 nodes and 100 applications it takes some
// 100 ms. It never holds up other methods for longer than it takes to copy what one application has seen.
func (s *Speeds) Sort() {
	begun := s.now()
	version := s.sorter.estimate(s, begun)
	classes := s.sorter.classes()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.publish(classes, version)
	s.sorting, s.next = false, begun.Add(max(interval, seldom*s.now().Sub(begun)))
}

// publish takes over the classes and factors of hosts that came up to a version. Those that came later have none yet.
func (s *Speeds) publish(classes []int32, version int64) {
	news := false
	for i, l := range classes {
		h := &s.hosts[i]
		if h.name == "" || h.came > version {
			continue
		}
		if l != h.class {
			h.class, h.changed, news = l, s.version+1, true
		}
		if f := s.sorter.hosts[i].factors(); f != h.factor {
			h.factor, h.refined, news = f, s.version+1, true
		}
	}
	if news {
		s.version++
	}
}

// classes returns those of the hosts, by index.
func (s *sorter) classes() []int32 {
	places, kinds := map[speedclass.Vector]int{}, []speedclass.Vector(nil) // nodes that are alike are one
	of := make([]int, len(s.hosts))
	for i := range s.hosts {
		h := &s.hosts[i]
		var key speedclass.Vector
		for t := range key {
			key[t] = math.Inf(1) // NaN isn't equal to itself
			if slow, known := h.of(t); known {
				key[t] = math.Round(slow / grain)
			}
		}
		p, ok := places[key]
		if !ok {
			p = len(kinds)
			places[key] = p
			v := key
			for t := range v {
				v[t] = math.Exp(v[t] * grain)
				if _, known := h.of(t); !known {
					v[t] = math.NaN()
				}
			}
			kinds = append(kinds, v)
		}
		of[i] = p
	}
	found, _ := speedclass.Cluster(kinds, speedclass.Most)
	classes := make([]int32, len(s.hosts))
	for i := range classes {
		classes[i] = int32(found[of[i]])
	}
	return classes
}

// of returns how slow a host is for a type of tasks, as the configuration says, else as was measured. A speed that is configured is for both types.
func (h *slowness) of(t int) (slow float64, known bool) {
	if h.fixed > 0 {
		return -math.Log(h.fixed), true
	}
	return h.slow[t], h.known[t]
}
