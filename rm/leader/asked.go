package leader

import (
	"heddle/rm/scheduler"
)

// asked remembers when an application asked for the containers that it waits for, by what grants have in common with asks. It is
// soft: after a change of leaders a container counts as asked for when its ApplicationMaster has come again.
type asked map[askKey]*askQueue

type askKey struct {
	priority int32
	request  int64
}

// askQueue are the asks of one kind in the order in which they came.
type askQueue struct {
	waiting int32
	batches []askBatch
}

type askBatch struct {
	count int32
	at    int64 // ms since 1970
}

// update takes new totals into account; as in YARN the row for any place says how many containers are wanted.
func (a asked) update(asks []scheduler.Ask, now int64) {
	for i := range asks {
		ask := &asks[i]
		if ask.Name != scheduler.Any {
			continue
		}
		key := askKey{ask.Priority, ask.AllocationRequestID}
		q := a[key]
		if q == nil {
			if ask.Count <= 0 {
				continue
			}
			q = &askQueue{}
			a[key] = q
		}
		q.set(ask.Count, now)
		if q.waiting == 0 {
			delete(a, key)
		}
	}
}

func (q *askQueue) set(count int32, now int64) {
	if more := count - q.waiting; more > 0 {
		q.batches = append(q.batches, askBatch{more, now})
	}
	for q.waiting > count && len(q.batches) > 0 { // what came last is what isn't wanted any more
		last := &q.batches[len(q.batches)-1]
		take := min(last.count, q.waiting-count)
		last.count -= take
		q.waiting -= take
		if last.count == 0 {
			q.batches = q.batches[:len(q.batches)-1]
		}
	}
	q.waiting = max(count, 0)
}

// take returns when a container that is granted was asked for; 0 if that isn't known.
func (a asked) take(priority int32, request int64) int64 {
	key := askKey{priority, request}
	q := a[key]
	if q == nil || len(q.batches) == 0 {
		return 0
	}
	first := &q.batches[0]
	at := first.at
	first.count--
	q.waiting--
	if first.count == 0 {
		q.batches = q.batches[1:]
	}
	if q.waiting <= 0 {
		delete(a, key)
	}
	return at
}
