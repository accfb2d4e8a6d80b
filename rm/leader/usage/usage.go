// Package usage samples what is used, guaranteed, waited for and suspended in the cluster, for the history that the ledger keeps (rm/ledger/usage).
package usage

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"heddle/rm/leader/loop"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	history "heddle/rm/ledger/usage"
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Scheduler knows what applications wait for, and what queues are guaranteed (eventlog.Recorder).
type Scheduler interface {
	Pending(h scheduler.AppHandle) int64
	PendingResource(h scheduler.AppHandle) records.Resource
	Queues() []scheduler.QueueView
}

// Apps are the live applications.
type Apps interface {
	App(id records.ApplicationID) (h scheduler.AppHandle, progress float32, ok bool)
}

// Config is what a Sampler works with.
type Config struct {
	Enabled   bool
	Scheduler Scheduler
	Apps      Apps
	Types     records.ResourceTypes
	Date      func() time.Time
}

// Sampler samples for a leadership. Its methods are for the loop's operations.
type Sampler struct {
	Config
	loop loop.Operations
	work *ledger.State
	gpu  int                        // index of its type, 0: there is none
	sent map[string]history.Figures // nil: nothing yet
}

// New makes the Sampler of a working copy.
func New(loop loop.Operations, work *ledger.State, cfg Config) *Sampler {
	s := &Sampler{Config: cfg, loop: loop, work: work}
	for i := range cfg.Types.Len() {
		if cfg.Types.At(i).Name == "yarn.io/gpu" {
			s.gpu = i
		}
	}
	return s
}

// Tick enters a sample when a step has begun that has none, also from the leader before. It names what has changed since the last one; the first one of a leadership has everything.
func (s *Sampler) Tick(time.Time) {
	step, last := s.Date().UnixMilli()/history.Step, s.work.Usage.LastStep()
	if !s.Enabled || step <= last || s.work.Version < ledger.UsageVersion {
		return
	}
	now := bounded(s.sample())
	c := &ledgerpb.UsageSampled{All: s.sent == nil}
	for name := range s.sent {
		if _, still := now[name]; !still {
			now[name] = history.Figures{}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		f := now[name]
		if f != s.sent[name] {
			c.Rows = append(c.Rows, history.Row(name, &f))
		}
		if f == (history.Figures{}) {
			delete(now, name)
		}
	}
	s.loop.Enter(&ledgerpb.Command{UsageSampled: c})
	if s.work.Usage.LastStep() > last { // else what has changed lacks in the history still
		s.sent = now
	}
}

// sample sums up what there is by series.
func (s *Sampler) sample() map[string]*history.Figures {
	all := map[string]*history.Figures{}
	of := func(name string) *history.Figures {
		if all[name] == nil {
			all[name] = &history.Figures{}
		}
		return all[name]
	}
	capacity := s.work.Capacity()
	*of(history.Cluster) = history.Figures{history.GuaranteedMB: capacity.MemoryMB(), history.GuaranteedVCores: capacity.VCores()}
	for _, q := range s.Scheduler.Queues() {
		g := q.Guaranteed
		if !q.Steady.IsZero() {
			g = q.Steady
		}
		f := of(history.Queue(q.Path))
		f[history.GuaranteedMB], f[history.GuaranteedVCores] = g.MemoryMB(), g.VCores()
	}
	suspended := s.suspended()
	total := of(history.Cluster)
	// each user's, and each queue's with those above it: many applications share them
	users, above := map[string]*history.Figures{}, map[string][]*history.Figures{}
	for id, a := range s.work.Apps {
		if a.Live == 0 && a.State.Ended() {
			continue
		}
		h, _, live := s.Apps.App(id)
		if !live && a.Live == 0 {
			continue
		}
		f := s.figures(a, suspended[id])
		if live {
			r := s.Scheduler.PendingResource(h)
			f[history.PendingMB], f[history.PendingVCores], f[history.PendingContainers] = r.MemoryMB(), r.VCores(), s.Scheduler.Pending(h)
		}
		if users[a.User] == nil {
			users[a.User] = of(history.User(a.User))
		}
		if above[a.Queue] == nil {
			eachQueue(a.Queue, func(path string) { above[a.Queue] = append(above[a.Queue], of(history.Queue(path))) })
		}
		total.Add(&f)
		users[a.User].Add(&f)
		for _, sum := range above[a.Queue] {
			sum.Add(&f)
		}
	}
	return all
}

func (s *Sampler) figures(a *ledger.Application, suspended lowered) (f history.Figures) {
	f[history.UsedMB], f[history.UsedVCores], f[history.Containers] = a.Used.MemoryMB(), a.Used.VCores(), int64(a.Live)
	if s.gpu > 0 {
		f[history.UsedGPUs] = a.Used[s.gpu]
	}
	f[history.SuspendedMB], f[history.SuspendedVCores], f[history.SuspendedContainers] = suspended.MemoryMB(), suspended.VCores(), suspended.containers
	return f
}

// lowered is what an application has in suspended containers.
type lowered struct {
	records.Resource
	containers int64
}

// suspended looks at nodes that have any suspended container.
func (s *Sampler) suspended() map[records.ApplicationID]lowered {
	out := map[records.ApplicationID]lowered{}
	for _, n := range s.work.Nodes {
		if n.Suspended == 0 {
			continue
		}
		for _, id := range n.Containers {
			if c := s.work.Container(id); c != nil && c.Live() && c.Suspended() {
				sum := out[id.Attempt.App]
				sum.Resource, sum.containers = sum.Add(c.Resource), sum.containers+1
				out[id.Attempt.App] = sum
			}
		}
	}
	return out
}

// eachQueue calls f with a queue and those above it.
func eachQueue(path string, f func(string)) {
	for {
		f(path)
		i := strings.LastIndexByte(path, '.')
		if i < 0 {
			return
		}
		path = path[:i]
	}
}

// others is the user that stands for those whom no series is left for.
const others = "(others)"

// Bounds of a sample.
const (
	maxQueues = 1_000
	maxUsers  = 1_000
)

// bounded keeps the queues and users that have most, and adds up the other users. Those that have nothing are left out.
func bounded(all map[string]*history.Figures) map[string]history.Figures {
	var queues, users []string
	out := map[string]history.Figures{}
	for name, f := range all {
		_, isQueue := history.QueueOf(name)
		switch {
		case *f == history.Figures{}:
		case name == history.Cluster:
			out[name] = *f
		case isQueue:
			queues = append(queues, name)
		default:
			users = append(users, name)
		}
	}
	largest := func(a, b string) int {
		x, y := all[a], all[b]
		return cmp.Or(cmp.Compare(y[history.UsedMB]+y[history.PendingMB]+y[history.GuaranteedMB], x[history.UsedMB]+x[history.PendingMB]+x[history.GuaranteedMB]), strings.Compare(a, b))
	}
	slices.SortFunc(queues, largest)
	slices.SortFunc(users, largest)
	for _, name := range slices.Concat(queues[:min(len(queues), maxQueues)], users[:min(len(users), maxUsers)]) {
		out[name] = *all[name]
	}
	for _, name := range users[min(len(users), maxUsers):] {
		f := out[history.User(others)]
		f.Add(all[name])
		out[history.User(others)] = f
	}
	return out
}
