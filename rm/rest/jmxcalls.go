package rest

import (
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/rest/daemon"
)

// callBeans are YARN's beans of parts that Heddle lacks, filled from calls as far as calls do the same: in YARN, heartbeats and
// ApplicationMasters' calls drive schedulers, and calls store, renew and remove delegation tokens.
// Means are over all calls since the start.
func (s *server) callBeans(host string) []daemon.Bean {
	by := make(map[string]ipc.MethodActivity)
	for _, c := range s.Calls {
		for _, m := range c.Methods() {
			by[m.Method.Name] = m
		}
	}
	var attrs []daemon.Attr
	add := func(name string, m ipc.MethodActivity, unit time.Duration) {
		mean := 0.0
		if m.Answered > 0 {
			mean = float64(m.Took) / float64(m.Answered) / float64(unit)
		}
		attrs = append(attrs, daemon.Attr{Name: name + "NumOps", Value: m.Answered}, daemon.Attr{Name: name + "AvgTime", Value: mean})
	}
	bean := func(name, context string) daemon.Bean {
		tags := []daemon.Attr{{Name: "tag.Context", Value: context}, {Name: "tag.Hostname", Value: host}}
		b := daemon.Bean{Name: service + name, Type: name, Attrs: append(tags, attrs...)}
		attrs = nil
		return b
	}
	store, update, remove := by["getDelegationToken"], by["renewDelegationToken"], by["cancelDelegationToken"]
	add("StoreToken", store, time.Millisecond)
	add("UpdateToken", update, time.Millisecond)
	add("RemoveToken", remove, time.Millisecond)
	attrs = append(attrs, daemon.Attr{Name: "TokenFailure", Value: store.Failed + update.Failed + remove.Failed})
	out := []daemon.Bean{bean("DelegationTokenSecretManagerMetrics", "token")}
	if s.capacityScheduler() {
		attrs = append(attrs, daemon.Attr{Name: "tag.CapacitySchedulerMetrics", Value: "ResourceManager"})
		add("Allocate", by["allocate"], time.Millisecond)
		add("NodeUpdate", by["nodeHeartbeat"], time.Nanosecond)
		out = append(out, bean("CapacitySchedulerMetrics", "yarn"))
	}
	return out
}
