// Package issued remembers to whom ids of applications were given, so that nobody submits under another's id. It is soft state: after a
// change of leaders an id that an earlier one has given is anybody's, as in YARN.
package issued

import "heddle/yarn/records"

// IDs are the latest ids that were given. The zero value has none. One goroutine may use them at a time.
type IDs struct {
	to    map[records.ApplicationID]string
	order []records.ApplicationID
}

// most is how many are remembered. Most clients submit at once.
const most = 100_000

// Add notes that an id was given to a user.
func (s *IDs) Add(id records.ApplicationID, user string) {
	if s.to == nil {
		s.to = map[records.ApplicationID]string{}
	}
	if len(s.order) >= most {
		delete(s.to, s.order[0])
		s.order = s.order[1:]
	}
	s.to[id] = user
	s.order = append(s.order, id)
}

// To is to whom an id was given; ok is false if nobody remembers.
func (s *IDs) To(id records.ApplicationID) (user string, ok bool) {
	user, ok = s.to[id]
	return user, ok
}
