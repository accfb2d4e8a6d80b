package hints

import (
	"iter"
	"time"

	"heddle/rm/ledger"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/rm/scheduler/policy/stages"
)

// Told is what is known of an application beside its containers. Its zero value is that of one that is new.
type Told struct {
	Report *Report // nil: its ApplicationMaster tells nothing
	Hints  Hints   // that it may be told
	freed  int64   // Released when its queue was measured last
}

// Measure measures all queues that were asked for, once in a window, by all live applications. It looks at each container in these queues,
// which costs nothing for queues that weren't asked for. bandwidth is that of hints.
func (m *Meters) Measure(now time.Duration, bandwidth float64, apps iter.Seq2[*ledger.Application, *Told]) {
	if !m.due(now) {
		return
	}
	m.sample()
	found := map[*Told]*app{}
	queues := map[*Told]string{}
	for a, t := range apps {
		if m.queues[a.Queue] == nil {
			continue
		}
		x := contentsOf(a)
		if x.report, x.before = t.Report, t.freed; t.Report != nil {
			t.freed = t.Report.Released
		}
		found[t], queues[t] = x, a.Queue
		m.add(a.Queue, x)
	}
	m.close(now)
	for t, x := range found {
		t.Hints = m.of(queues[t], x)
		t.Hints.Bandwidth = bandwidth
	}
}

// contentsOf returns what an application has, without its ApplicationMaster.
func contentsOf(a *ledger.Application) *app {
	x, as := &app{}, leaf.App{Type: a.Context.GetApplicationType()}
	for c := range a.Containers.All() {
		if c.AM || !c.Live() {
			continue
		}
		x.containers++
		x.used = x.used.Add(c.Resource)
		switch s, _ := stages.Of(&as, c.Priority); s {
		case stages.Map:
			x.maps++
		case stages.Reduce:
			x.reduces = x.reduces.Add(c.Resource)
		}
	}
	return x
}
