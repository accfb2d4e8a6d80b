package raft

import (
	"errors"
	"fmt"
	"time"
)

// diskPatience is how long a leader waits for its disk before it lets others lead.
const diskPatience = 10 * time.Second

// diskHangs is called when a write of the log takes too long. Raft waits for it, and can't even stop leading meanwhile, but continues to send
// heartbeats: the group would have a leader that commits nothing for as long as the disk doesn't answer. So a leader of others falls silent. It
// ends with its process, as after other failures of the disk. A member that doesn't lead, or is alone, waits.
func (n *Node) diskHangs() {
	t, leads := n.network, n.network != nil // else it is alone
	select {
	case <-n.up:
		leads = leads && n.IsLeader()
	default: // raft is being opened
		leads = false
	}
	if !leads {
		n.cfg.Log.Warnf("the disk of the log has not answered for %v", n.log.patience)
		return
	}
	_ = n.log.fail(fmt.Errorf("%w for %v", errHangs, n.log.patience))
	_ = t.Close()
	t.CloseStreams() // which heartbeats would continue to use
	n.shutdown()     // or proposals would wait until they are accepted,
	n.halt()         // and for answers
	select {
	case n.terms.in <- false:
	case <-n.terms.done:
	}
}

// stopRaft waits until raft has stopped. It gives up, and reports false, if raft waits for a disk that doesn't answer.
func (n *Node) stopRaft() (stopped bool, err error) {
	end := n.shutdown()
	if !errors.Is(n.Failure(), errHangs) {
		return true, end.Error()
	}
	ended := make(chan error, 1)
	go func() { ended <- end.Error() }()
	select {
	case err := <-ended:
		return true, err
	case <-time.After(landingPatience):
		return false, fmt.Errorf("raft member %s can't be stopped: %w", n.cfg.ID, n.Failure())
	}
}
