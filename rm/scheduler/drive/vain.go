package drive

import (
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// A node is closed to rounds of suspension for some time (ms) if so many in a row have taken room there, and the applications for which it
// was taken have got nothing: they can't have it, though it looks as if they could. Such is one behind another request of its queue
// that is larger than the room. Containers would be suspended for nothing, and again as soon as they resume.
const (
	mostVain  = 3
	vainPause = 300_000
)

// vanity holds the results of the last rounds on a node.
type vanity struct {
	app     records.ApplicationID // for which the last one took room; its handle is another's once it has ended
	granted int64                 // its containers, as they are counted, when it did
	at      int64                 // ms: when it did
	times   int                   // how many rounds in a row were in vain
	until   int64                 // ms: when the node is open to rounds again
}

// vain holds them for all nodes.
type vain map[scheduler.NodeHandle]vanity

// closed reports whether no room is to be taken on a node.
func (v vain) closed(n scheduler.NodeHandle, now int64) bool { return now < v[n].until }

// tookFor notes that a round takes room on a node for an application.
func (x *suspender) tookFor(n scheduler.NodeHandle, id records.ApplicationID) {
	app, known := x.d.byID[id]
	last, before := x.vain[n]
	if !known || before && last.at == x.d.now {
		return
	}
	times := 0
	if h, waits := x.d.byID[last.app]; before && waits && x.d.apps[h].granted == last.granted {
		times = last.times + 1
	}
	next := vanity{app: id, granted: x.d.apps[app].granted, at: x.d.now, times: times}
	if times >= mostVain {
		next.times, next.until = 0, x.d.now+vainPause
	}
	x.vain[n] = next
}
