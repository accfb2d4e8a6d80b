package suspend

import (
	"time"

	"heddle/nm/sockets"
)

// Heartbeats of the frameworks that we know are at most 10 s apart. So a connection on which a container sent something in the last seconds
// before it was stopped may be one for heartbeats: a breath waits until it is used again.
const (
	talks = 15 * time.Second
	// patient is how many breaths in a row wait in vain for a connection. It had other uses, such as a file that was fetched.
	patient = 3
	// answer is how long a breath waits for the answer to what was sent.
	answer = 3 * look
)

// heartbeats are the connections that a container's breaths wait for, from one breath to the next. The zero value knows none.
type heartbeats struct {
	talkers map[uint64]*talker // by the connection's id
	stopped time.Time          // when it last began to be suspended
}

// talker is a connection on which a container sends something regularly, or did so once.
type talker struct {
	sent, received uint64 // bytes, after the last breath
	missed         int    // breaths in a row in which it sent nothing; patient: it isn't waited for
}

// awaited is a connection during a breath.
type awaited struct {
	before sockets.Connection
	speaks bool      // it is to send something; else only what has come is to be read
	spoke  time.Time // zero: it hasn't sent anything yet
	heard  bool      // something has come since it was thawed
}

// listening is one breath as its connections go.
type listening struct {
	h     *heartbeats
	p     Processes
	all   []*awaited // those that are still open
	conns []sockets.Connection
}

// listen begins a breath, of a container that still is suspended. It returns nil where the kernel doesn't tell of connections, or the
// container has none of interest.
func (h *heartbeats) listen(p Processes) *listening {
	conns, err := p.Connections()
	if err != nil {
		return nil
	}
	stood := time.Since(h.stopped)
	l := &listening{h: h, p: p}
	open := make(map[uint64]*talker)
	for _, c := range conns {
		t := h.talkers[c.ID]
		switch {
		case t == nil && c.Idle-stood <= talks:
			t = &talker{sent: c.Sent}
		case t == nil && c.Unread > 0:
			t = &talker{sent: c.Sent, missed: patient}
		case t == nil:
			continue
		}
		open[c.ID] = t
		if t.sent != c.Sent { // it continued after the last breath had waited for it
			t.sent, t.missed = c.Sent, 0
		}
		// Received data is to be read, as others wait for the answer: tasks for that of their ApplicationMaster. Data that a breath
		// was too short for, or that is never read, isn't waited for again until more comes.
		if speaks := t.missed < patient; speaks || c.Unread > 0 && c.Received != t.received {
			l.all = append(l.all, &awaited{before: c, speaks: speaks})
			l.conns = append(l.conns, c)
		}
	}
	h.talkers = open
	if len(l.all) == 0 {
		return nil
	}
	return l
}

// done looks whether all connections have sent something, have heard what is said to that, and have read what had come.
func (l *listening) done() bool {
	now, err := l.p.Look(l.conns)
	if err != nil {
		return false
	}
	done := true
	for _, a := range l.all {
		c := find(now, a.before.ID)
		if c == nil {
			continue // it was closed
		}
		if a.spoke.IsZero() && c.Sent != a.before.Sent {
			a.spoke = time.Now()
		}
		a.heard = a.heard || c.Received != a.before.Received
		if c.Unread > 0 || a.speaks && (a.spoke.IsZero() || !a.heard && time.Since(a.spoke) < answer) {
			done = false
		}
	}
	return done
}

// end notes which connections have sent something in a breath. vain is whether one was silent that a breath will wait for again.
func (l *listening) end() (vain bool) {
	now, err := l.p.Look(l.conns)
	if err != nil {
		return false
	}
	for _, a := range l.all {
		t, c := l.h.talkers[a.before.ID], find(now, a.before.ID)
		if c == nil {
			delete(l.h.talkers, a.before.ID)
			continue
		}
		vain = vain || c.Unread > 0
		t.received = c.Received
		switch {
		case c.Sent != a.before.Sent:
			t.sent, t.missed = c.Sent, 0
		case a.speaks:
			t.missed++
			vain = vain || t.missed < patient
		}
	}
	return vain
}

func find(list []sockets.Connection, id uint64) *sockets.Connection {
	for i := range list {
		if list[i].ID == id {
			return &list[i]
		}
	}
	return nil
}
