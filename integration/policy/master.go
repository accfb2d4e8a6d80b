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
	"sync/atomic"

	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
	"heddle/yarn/token"
)

// master is a simulated application with its ApplicationMaster.
type master struct {
	name string
	user string
	id   records.ApplicationID

	play   *play
	stop   context.CancelFunc
	done   chan struct{} // closed after the last call; nil before the first one
	rounds atomic.Int64  // answered calls

	mu        sync.Mutex // held during calls
	rm        ipc.Invoker
	client    *ipc.Client
	response  int32
	container records.ContainerID // container of a managed ApplicationMaster
	on        *node

	wanted    map[row]int32
	told      map[row]int32
	release   []*pb.ContainerId
	black     []string
	white     []string
	held      []held
	preempted int

	registered string                  // constraints that it registers with, as TAG:CONSTRAINT with ; between them
	scheduling []*pb.SchedulingRequest // for the next call
	rejected   int32                   // containers of scheduling requests

	updates   []*pb.UpdateContainerRequest // for the next call
	unchanged []string                     // reasons why others weren't done
	killed    int                          // containers that nodes have ended for others
}

// row is one line of a request.
type row struct {
	priority int32
	place    string // resource name on the wire
	size     records.Resource
	strict   bool
	label    string           // as it is said, behind an =; empty: nothing is said
	kind     pb.ExecutionType // 0: nothing is said
}

// held is a granted container.
type held struct {
	id    records.ContainerID
	host  string
	size  records.Resource
	given bool // given back, but not yet gone

	kind    pb.ExecutionType
	version int32
}

// begin connects the ApplicationMaster with its token, registers, and starts its calls.
func (m *master) begin(ctx context.Context, t token.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done != nil {
		return nil
	}
	m.client = ipc.NewClient(ipc.ClientConfig{})
	m.rm = m.client.Failover([]string{m.play.rm.master}, protocol.ApplicationMaster, ipc.Identity{User: m.user, Token: &t}, patience)
	req := &pb.RegisterApplicationMasterRequest{}
	req.SetHost("localhost")
	req.SetRpcPort(-1)
	req.SetTrackingUrl("")
	constraints, err := parseRegistered(m.registered)
	if err != nil {
		return err
	}
	req.SetPlacementConstraints(constraints)
	if _, err := protocol.RegisterApplicationMaster.Call(ctx, m.rm, req); err != nil {
		m.client.Close()
		return fmt.Errorf("register the ApplicationMaster of %s: %w", m.name, err)
	}
	m.response = 0
	ctx, m.stop = context.WithCancel(ctx)
	m.done = make(chan struct{})
	go func() {
		defer close(m.done)
		every(ctx, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if err := m.allocate(ctx); err != nil && ctx.Err() == nil {
				m.stop()
				if !errors.Is(err, errDismissed) {
					m.play.failed(err)
				}
			}
		})
	}()
	return nil
}

// end stops the ApplicationMaster's calls without unregistering.
func (m *master) end() {
	m.mu.Lock()
	done := m.done
	m.mu.Unlock()
	if done != nil {
		m.stop()
		<-done
		m.client.Close()
	}
}

// errDismissed says that the ResourceManager doesn't know an ApplicationMaster any more.
var errDismissed = errors.New("dismissed")

// allocate makes one call. The caller holds m.mu.
func (m *master) allocate(ctx context.Context) error {
	req := &pb.AllocateRequest{}
	req.SetResponseId(m.response)
	req.SetProgress(0.5)
	var changed []row
	for r, n := range m.wanted {
		if m.told[r] != n {
			changed = append(changed, r)
		}
	}
	slices.SortFunc(changed, func(a, b row) int {
		return strings.Compare(fmt.Sprint(a.priority, a.place, a.size), fmt.Sprint(b.priority, b.place, b.size))
	})
	var rows []*pb.ResourceRequest
	for _, r := range changed {
		x := &pb.ResourceRequest{}
		priority := &pb.Priority{}
		priority.SetPriority(r.priority)
		x.SetPriority(priority)
		x.SetResourceName(r.place)
		x.SetCapability(m.play.types.PB(r.size))
		x.SetNumContainers(m.wanted[r])
		x.SetRelaxLocality(!r.strict)
		if label, said := strings.CutPrefix(r.label, "="); said {
			x.SetNodeLabelExpression(label)
		}
		if r.kind != 0 {
			kind := &pb.ExecutionTypeRequest{}
			kind.SetExecutionType(r.kind)
			kind.SetEnforceExecutionType(true)
			x.SetExecutionTypeRequest(kind)
		}
		rows = append(rows, x)
	}
	req.SetAsk(rows)
	req.SetRelease(m.release)
	req.SetSchedulingRequests(m.scheduling)
	req.SetUpdateRequests(m.updates)
	if len(m.black)+len(m.white) > 0 {
		b := &pb.ResourceBlacklistRequest{}
		b.SetBlacklistAdditions(m.black)
		b.SetBlacklistRemovals(m.white)
		req.SetBlacklistRequest(b)
	}
	resp, err := protocol.Allocate.Call(ctx, m.rm, req)
	if gone := []string{ipc.AttemptNotFound, ipc.InvalidToken, ipc.ApplicationNotFound, ipc.MasterNotRegistered}; slices.Contains(gone, ipc.Class(err)) {
		return errDismissed
	}
	if err != nil {
		return fmt.Errorf("call of the ApplicationMaster of %s: %w", m.name, err)
	}
	for _, r := range changed {
		m.told[r] = m.wanted[r]
	}
	m.response = resp.GetResponseId()
	m.release, m.black, m.white, m.updates = nil, nil, nil, nil
	m.rounds.Add(1)
	for _, c := range resp.GetAllocatedContainers() {
		m.take(c)
	}
	m.noteRejected(resp)
	m.updated(resp)
	for _, s := range resp.GetCompletedContainerStatuses() {
		id := records.ContainerIDFrom(s.GetContainerId())
		if s.GetExitStatus() == records.ExitPreempted {
			m.preempted++
		}
		if s.GetExitStatus() == records.ExitKilledByScheduler {
			m.killed++
		}
		m.held = slices.DeleteFunc(m.held, func(h held) bool { return h.id == id })
	}
	if resp.GetAMCommand() == pb.AMCommand_AM_SHUTDOWN {
		return errDismissed
	}
	return nil
}

// take records a granted container, and lowers the number of pending ones as Hadoop's AMRMClient does.
func (m *master) take(c *pb.Container) {
	size, _ := m.play.types.From(c.GetResource()) // it has only types of the configuration
	h := held{
		id: records.ContainerIDFrom(c.GetId()), host: records.NodeIDFrom(c.GetNodeId()).Host, size: size,
		kind: c.GetExecutionType(), version: c.GetVersion(),
	}
	m.play.begun(h.host, func(n *node) { n.begin(h.id, h.size, h.kind) })
	m.held = append(m.held, h)
	places := []string{"*", h.host, m.play.rackOf(h.host)}
	for r := range m.wanted {
		if r.priority == c.GetPriority().GetPriority() && slices.Contains(places, r.place) && m.wanted[r] > 0 && r.size.FitsIn(size) {
			m.wanted[r]--
			m.told[r]--
		}
	}
}

// ask adds to the request, and sends it at once.
func (m *master) ask(ctx context.Context, s Step) error {
	count, err := strconv.Atoi(s.Args[1])
	if err != nil {
		return err
	}
	size, err := parseResource(s.Args[2], m.play.types)
	if err != nil {
		return err
	}
	strict := len(s.Args) == 4
	if strict && s.Args[3] != "strict" {
		return fmt.Errorf("%q is not strict", s.Args[3])
	}
	r := row{priority: 1, place: "*", size: size, strict: strict}
	if text := s.Options["priority"]; text != "" {
		p, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return err
		}
		r.priority = int32(p)
	}
	if name := s.Options["type"]; name != "" {
		r.kind = pb.ExecutionType(pb.ExecutionType_value[strings.ToUpper(name)])
	}
	if label, said := s.Options["label"]; said {
		r.label = "=" + unescape(label)
	}
	at := func(place string, strict bool) row {
		r := r
		if r.place, r.strict = place, strict; s.Options["everywhere"] == "" || place[0] == '/' {
			r.label = "" // it belongs to the row for any node
		}
		return r
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done == nil {
		return fmt.Errorf("the ApplicationMaster: %w", errNotThere)
	}
	before := maps.Clone(m.wanted)
	racks := map[string]bool{}
	if on := s.Options["on"]; on != "" {
		for name := range strings.SplitSeq(on, ",") {
			n := m.play.hosts[name]
			if n == "" {
				return fmt.Errorf("there is no node %s", name)
			}
			m.wanted[at(n, false)] += int32(count)
			racks[m.play.rackOf(n)] = strict
		}
	}
	if rack := s.Options["rack"]; rack != "" {
		racks[rack] = false
	}
	for rack, strict := range racks {
		m.wanted[at(rack, strict)] += int32(count)
	}
	m.wanted[r] += int32(count)
	if err := m.allocate(ctx); err != nil {
		m.wanted = before
		return err
	}
	return nil
}

// giveBack releases containers, the newest first.
func (m *master) giveBack(s Step) error {
	count, err := strconv.Atoi(s.Args[1])
	if err != nil {
		return err
	}
	var size records.Resource
	if text := s.Options["size"]; text != "" {
		if size, err = parseResource(text, m.play.types); err != nil {
			return err
		}
	}
	host := m.play.hosts[s.Options["on"]]
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.held) - 1; i >= 0 && count > 0; i-- {
		h := &m.held[i]
		if h.given || !size.IsZero() && h.size != size || host != "" && h.host != host {
			continue
		}
		h.given = true
		m.release = append(m.release, h.id.PB())
		count--
	}
	if count > 0 {
		return fmt.Errorf("%d of the containers: %w", count, errNotThere)
	}
	return nil
}

// blacklist adds nodes to the blacklist or removes them.
func (m *master) blacklist(s Step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, word := range s.Args[1:] {
		host := m.play.hosts[word[1:]]
		switch {
		case host == "":
			return fmt.Errorf("there is no node %s", word[1:])
		case word[0] == '+':
			m.black = append(m.black, host)
		case word[0] == '-':
			m.white = append(m.white, host)
		default:
			return fmt.Errorf("%q begins neither with + nor with -", word)
		}
	}
	return nil
}

// finish unregisters and ends the ApplicationMaster.
func (m *master) finish(ctx context.Context) error {
	m.mu.Lock()
	if m.done == nil {
		m.mu.Unlock()
		return errors.New("the ApplicationMaster doesn't run")
	}
	m.stop()
	rm := m.rm
	m.mu.Unlock()
	<-m.done
	req := &pb.FinishApplicationMasterRequest{}
	req.SetFinalApplicationStatus(pb.FinalApplicationStatus_APP_SUCCEEDED)
	req.SetDiagnostics("")
	req.SetTrackingUrl("")
	err := poll(ctx, func() (bool, error) {
		resp, err := protocol.FinishApplicationMaster.Call(ctx, rm, req)
		return resp.GetIsUnregistered(), err
	})
	if err != nil {
		return err
	}
	if m.on != nil {
		m.on.end(m.container, records.ExitSuccess)
	}
	m.mu.Lock()
	m.held = nil
	m.mu.Unlock()
	return nil
}
