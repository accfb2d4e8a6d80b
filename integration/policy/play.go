package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// patience bounds the tries of calls.
var patience = ipc.RetryPolicy{MaxElapsed: time.Minute, Max: 200 * time.Millisecond}

// settleLimit bounds how long a cluster may take to settle, and any other wait of a step.
const settleLimit = 3 * time.Minute

// addresses are a ResourceManager's ports.
type addresses struct{ client, master, tracker, admin string }

// play is a scenario being played.
type play struct {
	sc    *Scenario
	rm    addresses
	types records.ResourceTypes
	quiet time.Duration // time without a change until the cluster counts as settled
	begin time.Time
	// rewrite writes the configuration files again.
	rewrite func(Settings, string) error

	client *ipc.Client
	admin  ipc.Invoker
	who    ipc.Invoker // client calls of an administrator

	hosts map[string]string // addresses of the script's nodes, by name
	nodes map[string]*node

	mu      sync.Mutex
	masters map[records.ApplicationID]*master
	queued  map[string]*node // those with queues, by host
	err     error
}

// failed records a failure of a simulated peer, which ends the play.
func (p *play) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}

func (p *play) broken() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// administrator is the user who started the ResourceManager, as far as it can tell.
const administrator = "root"

// perform plays a scenario and returns the result of each step.
func (sc *Scenario) perform(
	ctx context.Context, rm addresses, types records.ResourceTypes, quiet time.Duration, rewrite func(Settings, string) error,
) (Outcome, error) {
	p := &play{
		sc: sc, rm: rm, types: types, quiet: quiet, begin: time.Now(), rewrite: rewrite, client: ipc.NewClient(ipc.ClientConfig{}),
		hosts: sc.hosts(), nodes: map[string]*node{},
		masters: map[records.ApplicationID]*master{}, queued: map[string]*node{},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer p.close()
	defer cancel()
	who := ipc.Identity{User: administrator}
	p.admin = p.client.Failover([]string{rm.admin}, protocol.Administration, who, patience)
	p.who = p.client.Failover([]string{rm.client}, protocol.ApplicationClient, who, patience)
	var out Outcome
	for _, s := range sc.Steps {
		act := Act{Step: s.Text}
		if err := p.step(ctx, s, &act); err != nil {
			return out, fmt.Errorf("%s:%d: %s: %w", sc.Name, s.Line, s.Text, err)
		}
		if !verbs[s.Verb].setup {
			out = append(out, act)
		}
	}
	return out, p.broken()
}

func (p *play) close() {
	for _, m := range p.everyMaster() {
		m.end()
	}
	for _, n := range p.nodes {
		n.close()
	}
	p.client.Close()
}

// hosts gives each node of the script an address.
func (sc *Scenario) hosts() map[string]string {
	hosts := map[string]string{}
	for _, s := range sc.Steps {
		if s.Verb == "node" && hosts[s.Args[0]] == "" {
			hosts[s.Args[0]] = hostOf(len(hosts))
		}
	}
	return hosts
}

// nameOf returns the node with an address.
func (p *play) nameOf(host string) string {
	for name, h := range p.hosts {
		if h == host {
			return name
		}
	}
	return host
}

func (p *play) rackOf(host string) string {
	if rack := p.sc.racks[p.nameOf(host)]; rack != "" {
		return rack
	}
	return "/default-rack"
}

func (p *play) master(name string) (*master, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.masters {
		if m.name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("there is no application %s: %w", name, errNotThere)
}

// everyMaster returns all applications. Each may be locked.
func (p *play) everyMaster() []*master {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.masters))
}

func (p *play) node(name string) (*node, error) {
	if n := p.nodes[name]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("there is no node %s", name)
}

// step performs one line of the script. A refusal by the ResourceManager is a result, not an error.
func (p *play) step(ctx context.Context, s Step, act *Act) error {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	err := p.do(ctx, s, act)
	var report *refusedReport
	if errors.As(err, &report) {
		act.Refused = report.text
		return nil
	}
	var refused *ipc.RemoteError
	if errors.As(err, &refused) {
		act.Refused = p.anonymous(refused.Class + ": " + refused.Message())
		if s.Verb == "refresh" {
			act.Refused = refused.Class // Heddle's message names file, line and key; YARN's doesn't
		}
		return nil
	}
	if s.Try && errors.Is(err, errNotThere) {
		return nil
	}
	return err
}

// errNotThere says that what a step needs doesn't exist.
var errNotThere = errors.New("it isn't there")

func (p *play) do(ctx context.Context, s Step, act *Act) error {
	switch s.Verb {
	case "cs", "set", "allocations", "groups":
		return p.sc.configure(s)
	case "refresh":
		if err := p.rewrite(p.sc.Settings, p.sc.Allocations); err != nil {
			return err
		}
		_, err := protocol.RefreshQueues.Call(ctx, p.admin, &pb.RefreshQueuesRequest{})
		return err
	case "node":
		return p.join(ctx, s)
	case "leave", "lose", "resize":
		return p.change(ctx, s)
	case "retire", "retain":
		return p.retire(ctx, s)
	case "submit":
		return p.submit(ctx, s)
	case "labels":
		return p.labels(ctx, s)
	case "attributes":
		return p.attributes(ctx, s, act)
	case "settle":
		return p.settle(ctx, s, act)
	case "queues":
		return p.queues(ctx, act)
	case "reservations":
		return p.reservations(ctx, act)
	}
	m, err := p.master(s.Args[0])
	if err != nil {
		return err
	}
	switch s.Verb {
	case "ask":
		return m.ask(ctx, s)
	case "schedule":
		return m.schedule(ctx, s)
	case "rejected":
		m.showRejected(act)
		return nil
	case "promote", "demote":
		return m.retype(ctx, s)
	case "kinds":
		m.showKinds(act)
		return nil
	case "want":
		return m.want(ctx, s)
	case "release":
		return m.giveBack(s)
	case "blacklist":
		return m.blacklist(s)
	case "finish":
		if err := m.finish(ctx); err != nil {
			return err
		}
		return p.await(ctx, m, pb.YarnApplicationState_FINISHED)
	case "kill":
		return p.kill(ctx, m)
	case "move":
		req := &pb.MoveApplicationAcrossQueuesRequest{}
		req.SetApplicationId(m.id.PB())
		req.SetTargetQueue(s.Args[1])
		_, err := protocol.MoveApplicationAcrossQueues.Call(ctx, p.who, req)
		return err
	case "priority":
		n, err := strconv.ParseInt(s.Args[1], 10, 32)
		if err != nil {
			return err
		}
		req := &pb.UpdateApplicationPriorityRequest{}
		req.SetApplicationId(m.id.PB())
		req.SetApplicationPriority(&pb.Priority{})
		req.GetApplicationPriority().SetPriority(int32(n))
		_, err = protocol.UpdateApplicationPriority.Call(ctx, p.who, req)
		return err
	case "lifetime":
		return p.setLifetime(ctx, m, s.Args[1])
	case "expires":
		return p.await(ctx, m, pb.YarnApplicationState_KILLED)
	}
	return fmt.Errorf("no step is called %s", s.Verb)
}

// join adds a node.
func (p *play) join(ctx context.Context, s Step) error {
	name := s.Args[0]
	r, err := parseResource(s.Args[1], p.types)
	if err != nil {
		return err
	}
	if p.nodes[name] != nil {
		return errors.New("there is one with that name already")
	}
	n, err := p.newNode(context.WithoutCancel(ctx), name, p.hosts[name], r, s.Options["queue"])
	if err != nil {
		return err
	}
	p.nodes[name] = n
	return nil
}

// change removes a node, or changes its resources.
func (p *play) change(ctx context.Context, s Step) error {
	n, err := p.node(s.Args[0])
	if err != nil {
		return err
	}
	switch s.Verb {
	case "leave":
		delete(p.nodes, n.name)
		return n.leave(ctx)
	case "lose":
		delete(p.nodes, n.name)
		n.close()
		return poll(ctx, func() (bool, error) {
			resp, err := protocol.GetClusterMetrics.Call(ctx, p.who, &pb.GetClusterMetricsRequest{})
			return int(resp.GetClusterMetrics().GetNumActiveNms()) == len(p.nodes), err
		})
	}
	r, err := parseResource(s.Args[1], p.types)
	if err != nil {
		return err
	}
	option := &pb.ResourceOption{}
	option.SetResource(p.types.PB(r))
	option.SetOverCommitTimeout(-1)
	change := &pb.NodeResourceMap{}
	change.SetNodeId(n.ID.PB())
	change.SetResourceOption(option)
	req := &pb.UpdateNodeResourceRequest{}
	req.SetNodeResourceMap([]*pb.NodeResourceMap{change})
	_, err = protocol.UpdateNodeResource.Call(ctx, p.admin, req)
	return err
}

// retire begins a node's graceful decommission, or cancels it.
func (p *play) retire(ctx context.Context, s Step) error {
	n, err := p.node(s.Args[0])
	if err != nil {
		return err
	}
	p.sc.retired = slices.DeleteFunc(p.sc.retired, func(host string) bool { return host == n.ID.Host })
	if s.Verb == "retire" {
		p.sc.retired = append(p.sc.retired, n.ID.Host)
	}
	if err := p.rewrite(p.sc.Settings, p.sc.Allocations); err != nil {
		return err
	}
	req := &pb.RefreshNodesRequest{}
	req.SetDecommissionType(pb.DecommissionType_DECOMMISSION_GRACEFUL)
	req.SetDecommissionTimeout(int32(longRetirement / time.Second))
	_, err = protocol.RefreshNodes.Call(ctx, p.admin, req)
	return err
}

// longRetirement is longer than any scenario, so that no decommission ends by its timeout.
const longRetirement = time.Hour

// launched is called when a node starts the container of an ApplicationMaster.
func (p *play) launched(id records.ContainerID, n *node, t token.Token) {
	p.mu.Lock()
	m := p.masters[id.Attempt.App]
	p.mu.Unlock()
	if m == nil {
		p.failed(fmt.Errorf("node %s was told to start an unknown %v", n.name, id))
		return
	}
	m.mu.Lock()
	m.container, m.on = id, n
	m.mu.Unlock()
	// The ResourceManager considers an attempt launched only after this call has returned.
	n.wg.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
		defer cancel()
		err := poll(ctx, func() (bool, error) {
			ask := &pb.GetApplicationAttemptReportRequest{}
			ask.SetApplicationAttemptId(id.Attempt.PB())
			resp, err := protocol.GetApplicationAttemptReport.Call(ctx, p.who, ask)
			return resp.GetApplicationAttemptReport().GetYarnApplicationAttemptState() >= pb.YarnApplicationAttemptState_APP_ATTEMPT_LAUNCHED, err
		})
		if err == nil {
			err = m.begin(context.WithoutCancel(ctx), t)
		}
		if err != nil {
			p.failed(err)
		}
	})
}

// anonymous replaces ids and addresses, which differ from run to run.
func (p *play) anonymous(text string) string {
	var pairs []string
	p.mu.Lock()
	for id, m := range p.masters {
		pairs = append(pairs, id.String(), m.name)
	}
	p.mu.Unlock()
	for name, host := range p.hosts {
		pairs = append(pairs, host, name)
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	text = anyApplication.ReplaceAllString(text, "application_N")
	return anyAttempt.ReplaceAllString(text, "appattempt_N")
}

// poll calls f until it returns true.
func poll(ctx context.Context, f func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := f()
		if done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it didn't happen in time: %w", ctx.Err())
		}
	}
}
