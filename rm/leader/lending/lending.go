// Package lending decides how much of each node is lent to short tasks that come by probes: a least amount always, and up to a most while
// short tasks wait. That is Dice's elastic sizing (Dice, §4.2), of amounts instead of whole nodes. It is pure but for a lock.
//
// A loan is charged before a node hears of it, and returned to containers when the node has reported that it uses no more. So nothing is
// ever given away twice.
package lending

import (
	"fmt"
	"math"
	"sync"
	"time"

	"heddle/internal/quotes"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/records"
)

// Settings say how much is lent. The zero value lends nothing.
type Settings struct {
	Least records.Resource
	Most  records.Resource // zero: no more than Least, ever
	// Longest is the mean wait of short tasks in a window at which Most is lent.
	Longest time.Duration
	Window  time.Duration
	Model   partition.Model
}

// Check says what is wrong with settings.
func (s *Settings) Check() error {
	switch {
	case s.Most.IsZero():
		return nil
	case s.Least.IsZero():
		return fmt.Errorf("short tasks may get up to %v of a node while they wait, and nothing without: lend something always", s.Most)
	case !s.Least.FitsIn(s.Most):
		return fmt.Errorf("short tasks get %v of a node always, which is more than %v, the most that they may get", s.Least, s.Most)
	case s.Longest <= 0 || s.Window <= 0:
		return fmt.Errorf("the longest wait of %v and the window of %v must be above 0", s.Longest, s.Window)
	}
	return nil
}

// Want returns what each node is to be lent after a window: by the mean wait, or by how many quotes were broken, whichever is worse. Nodes that
// promise in vain have more to do than they know.
func (s *Settings) Want(news News) records.Resource {
	if s.Most.IsZero() {
		return s.Least
	}
	p := s.Model.Of(max(float64(news.wait())/float64(s.Longest), quotes.Broken(news.Quotes, news.Broken)))
	want := s.Least
	for i := range want {
		want[i] += records.Whole(p * float64(s.Most[i]-s.Least[i]))
	}
	return want
}

// News is what nodes tell of short tasks. None is negative.
type News struct {
	Started int64
	Waited  time.Duration // by all of them together, since they were submitted
	// Waiting are those that haven't started, and Ages how long these have waited together by now.
	Waiting int64
	Ages    time.Duration
	// Quotes are those of which it is known by now whether they have come true, and Broken those that have not.
	Quotes, Broken int64
}

// Report is what a node does with what it was lent for short tasks.
type Report struct {
	Lent, Used records.Resource
	News       News // since its last heartbeat; Waiting and Ages are of now
}

// wait returns the mean of waits, of tasks that have started and of those that haven't: where nothing starts, only the latter are long.
func (n News) wait() time.Duration {
	return plus(n.Waited, n.Ages) / time.Duration(max(n.Started+n.Waiting, 1))
}

// plus returns a sum of durations, or the longest one.
func plus(a, b time.Duration) time.Duration { return a + min(b, math.MaxInt64-a) }

// Windows collects what nodes tell. It is safe for concurrent use.
type Windows struct {
	mu    sync.Mutex
	ends  time.Time
	news  News
	waits map[records.NodeID]wait // as nodes with tasks that wait have told last
}

// wait is tasks that wait at a node, and how long they have waited together.
type wait struct {
	tasks int64
	sum   time.Duration
}

// Heard takes what a node has told.
func (w *Windows) Heard(id records.NodeID, n News) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.Waiting == 0 {
		delete(w.waits, id)
	} else {
		if w.waits == nil {
			w.waits = map[records.NodeID]wait{}
		}
		w.waits[id] = wait{n.Waiting, n.Ages}
	}
	w.news.Started += n.Started
	w.news.Waited = plus(w.news.Waited, n.Waited)
	w.news.Quotes += n.Quotes
	w.news.Broken += n.Broken
}

// Forget forgets what waits at a node: its tasks run elsewhere.
func (w *Windows) Forget(id records.NodeID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waits, id)
}

// Waiting returns how many short tasks wait at all nodes, and how long they have waited together, as far as nodes have told.
func (w *Windows) Waiting() (tasks int64, sum time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting()
}

func (w *Windows) waiting() (tasks int64, sum time.Duration) {
	for _, x := range w.waits {
		tasks, sum = tasks+x.tasks, plus(sum, x.sum)
	}
	return tasks, sum
}

// Next ends the window if its time has come, and returns what was told in it.
func (w *Windows) Next(now time.Time, window time.Duration) (told News, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ends.IsZero() {
		w.ends = now.Add(window)
	}
	if now.Before(w.ends) {
		return News{}, false
	}
	w.ends = now.Add(window)
	told, w.news = w.news, News{}
	told.Waiting, told.Ages = w.waiting()
	return told, true
}

// Node is what one node was lent.
type Node struct {
	Charged records.Resource // containers can't have it
	Told    records.Resource // what the node is to use at most. Never more than Charged
	// Room is what a container there has left that is suspended for short tasks. It is lent, too, as soon as it is there.
	Room  records.Resource
	Ready bool // it is
}

// Begin returns a node that registers, has so much in all, and was lent an amount before, by another leader perhaps. The rest must hold a container of the
// smallest size.
func Begin(s *Settings, total, before, smallest records.Resource) Node {
	if s.Least.IsZero() || !smallest.FitsIn(total.Sub(s.Least)) {
		return Node{}
	}
	return Node{Charged: before.Min(total).Max(s.Least), Told: s.Least} // until it says that it uses less
}

// Set lends a node the wanted amount beside the room that a suspended container has left, as far as it is free. It reports whether what is charged has changed.
func (n *Node) Set(want, free records.Resource) bool {
	before := n.Charged
	for i := range want {
		if more := want[i] + n.Room[i] - n.Charged[i]; more > 0 {
			n.Charged[i] += min(more, max(free[i], 0))
		}
		n.Told[i] = min(want[i], n.Charged[i]-min(n.Room[i], n.Charged[i]))
	}
	if n.Ready {
		n.Told = n.Told.Add(n.Room).Min(n.Charged)
	}
	return n.Charged != before
}

// SetRoom says what a suspended container has left, and whether it is there. Less than before is charged until the node has said that it uses no more.
func (n *Node) SetRoom(room, free records.Resource, ready bool) {
	want := n.Told
	if n.Ready {
		want = want.Sub(n.Room).Max(records.Resource{})
	}
	n.Room, n.Ready = room, ready
	n.Set(want, free)
}

// Heard takes what a node says that it was lent and uses. It reports whether what is charged has changed.
func (n *Node) Heard(lent, used records.Resource) bool {
	if lent != n.Told || !used.FitsIn(n.Told) {
		return false
	}
	to := n.Told
	if !n.Ready {
		to = to.Add(n.Room)
	}
	before := n.Charged
	n.Charged = n.Charged.Min(to)
	return n.Charged != before
}

// Settled reports whether nothing is charged but what the node is to use at most.
func (n *Node) Settled() bool { return n.Charged == n.Told }
