package leader

import "heddle/yarn/records"

// issued says to whom ids of applications were given, the latest so many. It is soft: after a change of leaders an id that an earlier
// one has given is anybody's, as in YARN.
type issued struct {
	of    map[records.ApplicationID]string
	order []records.ApplicationID
}

// maxIssued is how many are remembered. Most clients submit at once.
const maxIssued = 100_000

func (s *issued) add(id records.ApplicationID, user string) {
	if s.of == nil {
		s.of = map[records.ApplicationID]string{}
	}
	if len(s.order) >= maxIssued {
		delete(s.of, s.order[0])
		s.order = s.order[1:]
	}
	s.of[id] = user
	s.order = append(s.order, id)
}
