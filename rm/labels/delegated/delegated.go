// Package delegated has a site's Java class say which labels nodes have, for the ResourceManager that leads (Hadoop: RMDelegatedNodeLabelsUpdater,
// RMNodeLabelsMappingProvider). The class runs in a JVM beside it.
package delegated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter/jvm"
	"heddle/rm/leader/nodelabels"
	"heddle/yarn/records"
)

// Asker asks the class which labels some nodes have. It may answer for others, too, and not for all.
type Asker interface {
	Ask(ctx context.Context, nodes []records.NodeID) ([]nodelabels.Mapping, error)
}

// Updater gives nodes the labels that the class says.
type Updater struct {
	Asker Asker
	// Nodes returns those that work now, with when each has registered: one that registers again is asked about again.
	Nodes func() map[records.NodeID]int64
	Now   func() time.Time
	// Set puts labels on record, all or none of them.
	Set func([]nodelabels.Mapping) error
	// Every is how long until all nodes are asked about again; 0 or less is never.
	Every time.Duration
	Log   *logrus.Entry

	asked  map[records.NodeID]int64 // about these, of these registrations
	all    time.Time                // when all were asked about
	failed time.Time                // when a question had failed
}

// afterFailure is how long an Updater waits after a failure (Hadoop: nodeLabelsUpdateInterval, in which it looks for nodes).
const afterFailure = 30 * time.Second

// Look asks about nodes that have come, or about all if it is time, and returns whether it asked.
func (u *Updater) Look(ctx context.Context) bool {
	now := u.Now()
	if now.Sub(u.failed) < afterFailure {
		return false
	}
	here := u.Nodes()
	due := u.Every > 0 && now.Sub(u.all) >= u.Every
	var nodes []records.NodeID
	for id, since := range here {
		if before, asked := u.asked[id]; due || !asked || before != since {
			nodes = append(nodes, id)
		}
	}
	if len(nodes) == 0 {
		return false
	}
	slices.SortFunc(nodes, records.NodeID.Compare)
	if err := u.ask(ctx, nodes); err != nil {
		u.failed = u.Now() // it may have taken its time
		if ctx.Err() == nil {
			u.Log.WithError(err).WithField("nodes", len(nodes)).
				Error("the class of yarn.resourcemanager.node-labels.provider gives nodes no labels: they keep those that they have")
		}
		return true
	}
	if due {
		u.all, u.asked = now, here
		return true
	}
	if u.asked == nil {
		u.asked = map[records.NodeID]int64{}
	}
	for _, id := range nodes {
		u.asked[id] = here[id]
	}
	return true
}

func (u *Updater) ask(ctx context.Context, nodes []records.NodeID) error {
	found, err := u.Asker.Ask(ctx, nodes)
	if err != nil || len(found) == 0 {
		return err
	}
	return u.Set(found)
}

// Run looks at each tick, until ctx ends.
func (u *Updater) Run(ctx context.Context, ticks <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			u.Look(ctx)
		}
	}
}

var errAnswer = errors.New("its answer can't be read")

// mappings reads an answer.
func mappings(b []byte) ([]nodelabels.Mapping, error) {
	f := jvm.Fields{B: b}
	var out []nodelabels.Mapping
	for n := f.Integer(); n > 0 && f.Err == nil; n-- {
		m := nodelabels.Mapping{}
		text := f.Text()
		for k := f.Integer(); k > 0 && f.Err == nil; k-- {
			m.Labels = append(m.Labels, f.Text())
		}
		if f.Err != nil {
			break
		}
		var err error
		if m.Node, err = records.ParseNodeID(text); err != nil {
			return nil, fmt.Errorf("%w: node %.300q: %w", errAnswer, text, err)
		}
		out = append(out, m)
	}
	if f.Err != nil {
		return nil, fmt.Errorf("%w: %w", errAnswer, f.Err)
	}
	return out, nil
}
