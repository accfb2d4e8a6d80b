package rm

import (
	"context"
	"time"

	"heddle/hdfsadapter/jvm/ondemand"
	"heddle/rm/labels/delegated"
	"heddle/rm/leader"
	"heddle/rm/ledger"
	"heddle/yarn/records"
)

// lookForNodes is how often the leader looks for nodes about which it hasn't asked the site's class.
const lookForNodes = time.Second

// delegateLabels has the site's class say which labels nodes have, while this member leads.
func (r *ResourceManager) delegateLabels(ctx context.Context, l *leader.Leader) {
	class := delegated.New(ondemand.Of(r.conf, webHost(r.conf, r.id), r.log))
	defer class.Close()
	u := delegated.Updater{
		Asker: class, Set: l.Labels().Delegated, Every: r.conf.Duration(delegated.IntervalKey), Log: r.log,
		Now: time.Now,
		Nodes: func() map[records.NodeID]int64 {
			working := map[records.NodeID]int64{}
			r.Read(func(s *ledger.State) {
				for id, n := range s.Nodes {
					if n.Usable() {
						working[id] = n.RegisteredAt
					}
				}
			})
			return working
		},
	}
	ticks := time.NewTicker(lookForNodes)
	defer ticks.Stop()
	u.Run(ctx, ticks.C)
}
