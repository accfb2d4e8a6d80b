package speed

import "math"

// Factor is how fast a host runs tasks of a type, compared with the mean of hosts: 2 is twice as fast. 0 is unknown.
type Factor struct {
	Host  string
	Type  Type
	Speed float64
}

// Factors returns those that have changed after a version, by at least a few per cent, and the version that they are of. It sorts nothing.
func (s *Speeds) Factors(version int64) (changed []Factor, upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == s.version {
		return nil, version
	}
	for i := range s.hosts {
		h := &s.hosts[i]
		if h.name == "" || h.refined <= version {
			continue
		}
		for t, f := range h.factor {
			changed = append(changed, Factor{h.name, Type(t), f})
		}
	}
	return changed, s.version
}

// factors returns those of a host by what the sorter has found.
func (h *slowness) factors() (of [types]float64) {
	for t := range of {
		if h.known[t] {
			of[t] = math.Exp(-math.Round(h.slow[t]/grain) * grain)
		}
	}
	return of
}
