package view

import (
	"iter"
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
	ids := v.newest()
	for more := true; more && len(ids) > 0; {
		ids = v.nextPart(ids, func(a *ledger.Application) bool {
			more = f(a)
			return more
		})
	}
}

// newest returns the ids of all applications, the newest ones first.
func (v *Viewer) newest() (ids []records.ApplicationID) {
	v.Source.Read(func(s *ledger.State) {
		ids = make([]records.ApplicationID, 0, len(s.Apps))
		for id := range s.Apps {
			ids = append(ids, id)
		}
	})
	slices.SortFunc(ids, func(a, b records.ApplicationID) int { return b.Compare(a) })
	return ids
}

// nextPart calls f with the first partSize of applications, as far as they are still there, until f returns false. It returns the ids that follow.
func (v *Viewer) nextPart(ids []records.ApplicationID, f func(a *ledger.Application) (more bool)) []records.ApplicationID {
	part := ids[:min(partSize, len(ids))]
	v.Source.Read(func(s *ledger.State) {
		for _, id := range part {
			if a := s.Apps[id]; a != nil && !f(a) {
				return
			}
		}
	})
	return ids[len(part):]
}

// chunk is how many applications of a list are in memory at a time.
const chunk = 256

// Each returns the applications that a filter admits, the newest ones first. They are looked up some hundred at a time while the caller goes through
// them, so a long list is never in memory as a whole. Each hundred is completed by the functions in fill. The ledger may change meanwhile. Values
// behind pointers are replaced later: copy those that are to stay.
func (v *Viewer) Each(f Filter, fill ...func([]App)) iter.Seq[*App] {
	return func(yield func(*App) bool) {
		by, all := v.soft(), everything(v)
		left := f.Limit // 0: no end
		var apps []App
		for ids := v.newest(); len(ids) > 0; {
			apps = apps[:0]
			for len(ids) > 0 && len(apps) < chunk && (left <= 0 || int64(len(apps)) < left) {
				ids = v.nextPart(ids, func(a *ledger.Application) bool {
					if f.admits(a) {
						apps = append(apps, v.app(a, by, all))
					}
					return left <= 0 || int64(len(apps)) < left
				})
			}
			for _, complete := range fill {
				complete(apps)
			}
			for i := range apps {
				if !yield(&apps[i]) {
					return
				}
			}
			if left > 0 {
				if left -= int64(len(apps)); left == 0 {
					return
				}
			}
		}
	}
}
