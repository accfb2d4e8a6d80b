package delegation

import (
	"context"
	"math/rand/v2"
	"sync"

	"heddle/rm/leader/refusal"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Handed are the credentials that nodes get for applications (Hadoop: RMContext.getSystemCredentialsForApps). Like Hadoop's, each node gets those of
// all applications, after each change: a container may start on any node before its next heartbeat. It is safe for concurrent use. Of a nil
// one, Beat and Await alone may be called.
type Handed struct {
	mu       sync.Mutex
	of       map[records.ApplicationID]given
	awaited  map[records.ApplicationID]int    // what is still asked for
	refused  map[records.ApplicationID]string // why no container starts
	sequence int64                            // of the last change that nodes have been told
	changed  bool                             // since then
	list     []*pb.SystemCredentialsForApps   // of that change; nil: to be made again
	has      map[records.NodeID]int64         // the change that nodes have confirmed
	news     chan struct{}                    // closed when anything changes
	late     map[records.ApplicationID]bool   // ended, whose tokens nodes may still need
	kept     map[records.ApplicationID]bool   // those of which nodes said so since the last takeKept
}

type given struct {
	credentials []byte
	since       int64 // the first change with them
}

// NewHanded returns an empty set.
func NewHanded() *Handed {
	h := &Handed{}
	h.reset()
	return h
}

// reset forgets everything, as a leadership begins. No number that an earlier leader told is likely to be used again.
func (h *Handed) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of, h.awaited, h.has = map[records.ApplicationID]given{}, map[records.ApplicationID]int{}, map[records.NodeID]int64{}
	h.refused = map[records.ApplicationID]string{}
	h.late, h.kept = map[records.ApplicationID]bool{}, map[records.ApplicationID]bool{}
	h.sequence, h.changed, h.list = rand.Int64N(1<<62)+1, false, nil
	h.wake()
}

// wake wakes all who wait. The caller has the lock.
func (h *Handed) wake() {
	if h.news != nil {
		close(h.news)
	}
	h.news = make(chan struct{})
}

// expect says that something is asked for, which an application's first container waits for.
func (h *Handed) expect(app records.ApplicationID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.awaited[app]++
}

// settle says that it was answered, or is given up.
func (h *Handed) settle(app records.ApplicationID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.awaited[app]--; h.awaited[app] <= 0 {
		delete(h.awaited, app)
	}
	h.wake()
}

// refuse says why no container of an application may start.
func (h *Handed) refuse(app records.ApplicationID, why string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused[app] = why
}

// give sets an application's credentials, which publish tells nodes.
func (h *Handed) give(app records.ApplicationID, credentials []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[app] = given{credentials, h.sequence + 1}
	h.changed = true
}

// forget removes what there is of an application. Nodes aren't told before the next change.
func (h *Handed) forget(app records.ApplicationID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, app)
	delete(h.awaited, app)
	delete(h.refused, app)
	delete(h.late, app)
	delete(h.kept, app)
	if h.list = nil; len(h.of) == 0 {
		clear(h.has)
	}
	h.wake()
}

// ended says that an application has ended whose tokens nodes may still need.
func (h *Handed) ended(app records.ApplicationID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late[app] = true
}

// Keep says that a node still uploads logs of ended applications, and needs their tokens (keep_alive_applications; Hadoop: DelegationTokenRenewer.updateKeepAliveApplications).
func (h *Handed) Keep(apps []*pb.ApplicationId) {
	if h == nil || len(apps) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range apps {
		if app := records.ApplicationIDFrom(m); h.late[app] {
			h.kept[app] = true
		}
	}
}

// takeKept returns the applications that nodes named since it was called last.
func (h *Handed) takeKept() map[records.ApplicationID]bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept := h.kept
	if len(kept) > 0 {
		h.kept = map[records.ApplicationID]bool{}
	}
	return kept
}

// publish has heartbeats bring what has changed.
func (h *Handed) publish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed {
		return
	}
	h.changed, h.list = false, nil
	h.sequence++
}

// messages returns the credentials that nodes are told. The caller has the lock.
func (h *Handed) messages() []*pb.SystemCredentialsForApps {
	if h.list == nil {
		h.list = make([]*pb.SystemCredentialsForApps, 0, len(h.of))
		for app, g := range h.of {
			if g.since > h.sequence {
				continue
			}
			m := &pb.SystemCredentialsForApps{}
			m.SetAppId(app.PB())
			m.SetCredentialsForApp(g.credentials)
			h.list = append(h.list, m)
		}
	}
	return h.list
}

// Beat answers a heartbeat of a node that was last told a number. The messages are not to be changed.
func (h *Handed) Beat(node records.NodeID, told int64) (all []*pb.SystemCredentialsForApps, sequence int64) {
	if h == nil {
		return nil, 1
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.of) == 0 {
		return nil, 1 // as Hadoop's begins
	}
	if h.has[node] != told {
		h.has[node] = told
		h.wake()
	}
	if told == h.sequence {
		return nil, h.sequence
	}
	return h.messages(), h.sequence
}

// left forgets a node.
func (h *Handed) left(node records.NodeID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.has, node)
}

// Await returns when a node has everything that there will be for an application, so that it can start the application's first container. A refusal says that it mustn't.
func (h *Handed) Await(ctx context.Context, node records.NodeID, app records.ApplicationID) error {
	for h != nil {
		h.mu.Lock()
		g, has := h.of[app]
		ready := h.awaited[app] == 0 && (!has || h.has[node] >= g.since && h.has[node] <= h.sequence)
		news, why := h.news, h.refused[app]
		h.mu.Unlock()
		switch {
		case why != "":
			return &refusal.Error{Reason: refusal.Refused, Text: why}
		case ready:
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
