package policy

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// calm is how many rounds of every node and ApplicationMaster must pass without a change until a cluster counts as
// settled.
const calm = 8

// longLook bounds the time between two looks that counts as quiet: a machine that is suspended is quiet for no good
// reason.
const longLook = 100 * time.Millisecond

// settle waits until nothing changes, and records who has what.
func (p *play) settle(ctx context.Context, s Step, act *Act) error {
	where, part, urgent := slices.Contains(s.Args, "nodes"), slices.Contains(s.Args, "usage"), slices.Contains(s.Args, "priorities")
	var last string
	var still time.Duration // time since the last change
	looked := time.Now()
	rounds := map[any]int64{}
	return poll(ctx, func() (bool, error) {
		if err := p.broken(); err != nil {
			return false, err
		}
		apps, consistent, err := p.look(ctx)
		if err != nil {
			return false, err
		}
		now := time.Now()
		still += min(now.Sub(looked), longLook)
		looked = now
		quiet := consistent && fmt.Sprint(apps) == last
		if !quiet {
			last, still = fmt.Sprint(apps), 0
			p.eachPeer(func(peer any, n int64) { rounds[peer] = n })
			return false, nil
		}
		if still < p.quiet {
			return false, nil
		}
		p.eachPeer(func(peer any, n int64) {
			if n < rounds[peer]+calm {
				quiet = false
			}
		})
		if !quiet {
			return false, nil
		}
		for i := range apps {
			if !where {
				apps[i].Nodes = nil
			}
			if !part {
				apps[i].OfQueue = ""
			}
			if !urgent {
				apps[i].Priority = 0
			}
		}
		act.Apps = apps
		return true, nil
	})
}

// eachPeer calls f for all peers that must be heard of, with the rounds that they have completed.
func (p *play) eachPeer(f func(peer any, rounds int64)) {
	for _, n := range p.nodes {
		f(n, n.rounds.Load())
	}
	for _, m := range p.everyMaster() {
		m.mu.Lock()
		done := m.done
		m.mu.Unlock()
		if done == nil {
			continue
		}
		select {
		case <-done:
		default:
			f(m, m.rounds.Load())
		}
	}
}

// look records who has what. It isn't consistent while an ApplicationMaster and the ResourceManager disagree.
func (p *play) look(ctx context.Context) (apps []App, consistent bool, err error) {
	resp, err := protocol.GetApplications.Call(ctx, p.who, &pb.GetApplicationsRequest{})
	if err != nil {
		return nil, false, err
	}
	consistent = true
	for _, r := range resp.GetApplications() {
		p.mu.Lock()
		m := p.masters[records.ApplicationIDFrom(r.GetApplicationId())]
		p.mu.Unlock()
		if m == nil {
			continue // refused
		}
		a := App{Name: m.name, State: r.GetYarnApplicationState().String(), Queue: r.GetQueue(), User: r.GetUser()}
		a.Priority = r.GetPriority().GetPriority()
		if a.Lifetime, err = lifetime(r); err != nil {
			return nil, false, err
		}
		if r.GetYarnApplicationState() == pb.YarnApplicationState_FAILED {
			first, _, _ := strings.Cut(strings.TrimSpace(r.GetDiagnostics()), "\n")
			a.Diagnostics = p.anonymous(first)
		}
		m.mu.Lock()
		a.Preempted = m.preempted
		a.Nodes = map[string]int{}
		mine := 0
		for _, h := range m.held {
			a.Nodes[p.nameOf(h.host)]++
			mine++
		}
		live := m.done != nil
		if m.on != nil {
			mine++
		}
		pending := len(m.release) > 0
		m.mu.Unlock()
		if state := r.GetYarnApplicationState(); state == pb.YarnApplicationState_ACCEPTED || state == pb.YarnApplicationState_RUNNING {
			u := r.GetAppResource_Usage()
			a.Containers = int(u.GetNumUsedContainers())
			a.Reserved = int(u.GetNumReservedContainers())
			a.OfQueue = strconv.FormatFloat(float64(u.GetQueueUsagePercentage()), 'f', 3, 32)
			if a.Used, err = p.types.From(u.GetUsedResources()); err != nil {
				return nil, false, err
			}
			launching := state == pb.YarnApplicationState_ACCEPTED && a.Containers != 0
			if launching || live && (mine != a.Containers || pending) {
				consistent = false
			}
		} else {
			a.Nodes = nil
		}
		apps = append(apps, a)
	}
	slices.SortFunc(apps, func(a, b App) int { return strings.Compare(a.Name, b.Name) })
	return apps, consistent, nil
}
