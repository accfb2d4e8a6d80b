package view

import (
	"slices"

	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// partSize is how many applications are looked at while the ledger can't change. With a long history a view of all took seconds, in which nothing
// could be committed.
const partSize = 32

// eachApp calls f with the applications that were there when it was called and still are, the newest ones first, until f returns false. The ledger may
// change after every partSize of them, so sums over many applications are of a short span, not of a moment. f must keep nothing of what it gets.
func (v *Viewer) eachApp(f func(a *ledger.Application) (more bool)) {
	var ids []records.ApplicationID
	v.Source.Read(func(s *ledger.State) {
		ids = make([]records.ApplicationID, 0, len(s.Apps))
		for id := range s.Apps {
			ids = append(ids, id)
		}
	})
	slices.SortFunc(ids, func(a, b records.ApplicationID) int { return b.Compare(a) })
	for more := true; more && len(ids) > 0; {
		part := ids[:min(partSize, len(ids))]
		ids = ids[len(part):]
		v.Source.Read(func(s *ledger.State) {
			for _, id := range part {
				if a := s.Apps[id]; a != nil && !f(a) {
					more = false
					return
				}
			}
		})
	}
}
