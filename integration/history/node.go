package history

import (
	"context"
	"time"

	"heddle/integration/peer"
	"heddle/yarn/records"
)

// node is a simulated NodeManager that starts nothing.
type node struct {
	peer.Node
	peer.Book
}

func (w *World) newNode(id records.NodeID) *node {
	n := &node{Node: peer.Node{ID: id, RM: w.tracker(), Resource: records.ResourceTypes{}.PB(w.o.Container.Times(int64(w.o.Capacity)))}}
	n.Containers = n.List
	return n
}

func (w *World) live(ctx context.Context, n *node) {
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		resp, err := n.Heartbeat(ctx)
		if err != nil && ctx.Err() == nil {
			w.failed(err)
		}
		n.Answered(resp)
	}
}
