package ledger

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger/course"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodeattributes"
	"heddle/rm/ledger/nodelabels"
	"heddle/rm/ledger/queues"
	"heddle/rm/ledger/shape"
	"heddle/rm/ledger/usage"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// maxRecord limits one record of a snapshot, in bytes; the largest is an application with all its containers.
const maxRecord = 1 << 30

// Frozen is a state as it was at a moment. It may be read while the state continues.
type Frozen struct {
	cluster     *ledgerpb.Cluster
	nodes       []Node
	apps        []Application
	delegations map[int32]Delegation
	issued      map[string][]int32
	labels      nodelabels.Labels
	history     *usage.History
	created     queues.Created
	attributes  nodeattributes.Attributes
}

// Freeze returns the state as it is now. It copies nodes and applications, and shares their containers with the state, which copies
// those that it changes later: hundreds of thousands would take too long to copy at once.
func (s *State) Freeze() *Frozen {
	f := &Frozen{
		cluster: s.clusterRecord(), delegations: maps.Clone(s.Delegations), issued: maps.Clone(s.Issued.Of), labels: s.Labels, attributes: s.Attributes.Clone(), history: s.Usage.Freeze(), created: s.Created.Frozen(),
		nodes: make([]Node, 0, len(s.Nodes)), apps: make([]Application, 0, len(s.Apps)),
	}
	for _, n := range s.Nodes {
		f.nodes = append(f.nodes, *n)
		f.nodes[len(f.nodes)-1].Containers = nil
	}
	for _, a := range s.Apps {
		f.apps = append(f.apps, *a)
		c := &f.apps[len(f.apps)-1]
		c.copyAttempts()
		c.Past = a.Past.Shared()
		c.Containers = a.Containers.freeze()
	}
	return f
}

// WriteSnapshot writes the state as Frozen.WriteSnapshot does.
func (s *State) WriteSnapshot(w io.Writer) error { return s.Freeze().WriteSnapshot(w) }

// WriteSnapshot writes the state as a sequence of length-delimited ledgerpb.SnapshotRecord, in the order of ids, so that
// equal states give equal bytes.
func (f *Frozen) WriteSnapshot(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	var failed error
	put := func(kind string, id any, r *ledgerpb.SnapshotRecord) {
		if failed != nil {
			return
		}
		if n := proto.Size(r); n > maxRecord {
			failed = fmt.Errorf("snapshot: %s%v: %d bytes could not be read again", kind, id, n)
		} else if _, err := (protodelim.MarshalOptions{MarshalOptions: proto.MarshalOptions{Deterministic: true}}).MarshalTo(b, r); err != nil {
			failed = fmt.Errorf("snapshot: %s%v: %w", kind, id, err)
		}
	}
	put("cluster", "", &ledgerpb.SnapshotRecord{Cluster: f.cluster})
	slices.SortFunc(f.nodes, func(a, b Node) int { return a.ID.Compare(b.ID) })
	for i := range f.nodes {
		put("node ", f.nodes[i].ID, &ledgerpb.SnapshotRecord{Node: f.nodes[i].record()})
	}
	slices.SortFunc(f.apps, func(a, b Application) int { return a.ID.Compare(b.ID) })
	for i := range f.apps {
		put("", f.apps[i].ID, &ledgerpb.SnapshotRecord{Application: f.apps[i].record()})
	}
	for _, seq := range slices.Sorted(maps.Keys(f.delegations)) {
		put("delegation token ", seq, &ledgerpb.SnapshotRecord{Delegation: f.delegations[seq].record(seq)})
	}
	for _, user := range slices.Sorted(maps.Keys(f.issued)) {
		put("ids issued to ", user, &ledgerpb.SnapshotRecord{Issued: &ledgerpb.IssuedIds{User: user, Ids: f.issued[user]}})
	}
	if !f.labels.Empty() {
		put("labels of nodes", "", &ledgerpb.SnapshotRecord{NodeLabels: f.labels.Record()})
	}
	for r := range f.history.Records() {
		put("history of ", r.GetName(), &ledgerpb.SnapshotRecord{History: r})
	}
	if r := f.created.Record(); r != nil {
		put("queues created on demand", "", &ledgerpb.SnapshotRecord{CreatedQueues: r})
	}
	for _, h := range f.attributes.Record() {
		put("attributes of host ", h.GetHost(), &ledgerpb.SnapshotRecord{HostAttributes: h})
	}
	return cmp.Or(failed, b.Flush())
}

// ReadSnapshot reads what WriteSnapshot wrote. The error is a *NewerError if a newer version of Heddle wrote it.
func ReadSnapshot(r io.Reader) (*State, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	s := New()
	for n := 0; ; n++ {
		var rec ledgerpb.SnapshotRecord
		err := readRecord(b, &rec)
		if errors.Is(err, io.EOF) && n > 0 {
			s.Issued.Sort()
			return s, nil
		}
		if err == nil {
			err = s.restore(n, &rec)
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot: record %d: %w", n, err)
		}
	}
}

func readRecord(b *bufio.Reader, rec *ledgerpb.SnapshotRecord) error {
	size, err := binary.ReadUvarint(b)
	if err != nil {
		return err
	}
	if size > maxRecord {
		return fmt.Errorf("%d bytes: %w", size, shape.ErrTorn)
	}
	var data bytes.Buffer
	if _, err := io.CopyN(&data, b, int64(size)); err != nil {
		return fmt.Errorf("%w, it should have %d bytes", io.ErrUnexpectedEOF, size)
	}
	return decode(data.Bytes(), rec, recordShape)
}

func (s *State) restore(n int, rec *ledgerpb.SnapshotRecord) error {
	switch {
	case n == 0 && rec.Cluster == nil:
		return errors.New("it doesn't begin with the cluster")
	case rec.Cluster != nil:
		return s.restoreCluster(rec.Cluster)
	case rec.Node != nil:
		return s.restoreNode(rec.Node)
	case rec.Application != nil:
		return s.restoreApplication(rec.Application)
	case rec.Delegation != nil:
		return s.delegationIssued(rec.Delegation)
	case rec.Issued != nil:
		s.Issued.Restore(rec.Issued)
		return nil
	case rec.NodeLabels != nil:
		s.Labels.Restore(rec.NodeLabels)
		return nil
	case rec.History != nil:
		return s.Usage.Restore(rec.History)
	case rec.CreatedQueues != nil:
		return s.Created.Restore(rec.CreatedQueues)
	case rec.HostAttributes != nil:
		return s.Attributes.Restore(rec.HostAttributes)
	}
	return errors.New("a record has no kind")
}

func (s *State) clusterRecord() *ledgerpb.Cluster {
	c := &ledgerpb.Cluster{
		Format:          s.Version,
		Timestamp:       s.Timestamp,
		Leaders:         s.Leaders,
		Leader:          s.Leader,
		LastApplication: s.LastApplication,
		Submitted:       s.Submitted,
		LastDelegation:  s.LastDelegation,
		Offered:         s.Offered,
		Release:         s.Release,
		Refused:         s.Refused,
		Void:            s.Void,
		UnownedIds:      s.Issued.Unowned,
		Keys:            s.Keys.Record(),
	}
	if q := s.Queues; q.Version > 0 {
		c.Queues = &ledgerpb.QueuesConfigured{Settings: q.Settings, FromFile: q.FromFile, Version: q.Version}
		c.QueuesTime = q.Time
	}
	for _, st := range slices.Sorted(maps.Keys(s.Ended)) {
		c.Ended = append(c.Ended, &ledgerpb.StateCount{State: int32(st.Public()), Count: s.Ended[st]})
	}
	return c
}

func (s *State) restoreCluster(c *ledgerpb.Cluster) error {
	switch v := c.GetFormat(); {
	case v > Version:
		return &NewerError{Version: v, Release: c.GetRelease()}
	case v < 1:
		return fmt.Errorf("version %d: %w", v, shape.ErrTorn)
	}
	s.Version, s.Release, s.Refused, s.Void = c.GetFormat(), c.GetRelease(), c.GetRefused(), c.GetVoid()
	s.Timestamp, s.Leaders, s.Leader = c.GetTimestamp(), c.GetLeaders(), c.GetLeader()
	s.LastApplication, s.Submitted = c.GetLastApplication(), c.GetSubmitted()
	s.LastDelegation, s.Offered, s.Issued.Unowned = c.GetLastDelegation(), c.GetOffered(), c.GetUnownedIds()
	if c.GetQueues() != nil {
		s.Queues = queues.NewConf(c.GetQueues(), c.GetQueuesTime())
	}
	for _, e := range c.GetEnded() {
		s.Ended[endState(pb.YarnApplicationState(e.GetState()))] = e.GetCount()
	}
	s.Keys.Restore(c.GetKeys())
	return nil
}

func (n *Node) record() *ledgerpb.Node {
	return &ledgerpb.Node{
		Registered: &ledgerpb.NodeRegistered{
			Node:       NodeRef(n.ID),
			HttpPort:   n.HTTPPort,
			Rack:       n.Rack,
			Capability: Amounts(n.Capability),
			Version:    n.Version,
			Features:   n.Features,
			Missing:    n.Missing,
		},
		State:                int32(n.State),
		HealthReport:         n.HealthReport,
		DecommissionDeadline: n.DecommissionDeadline,
		RegisteredAt:         n.RegisteredAt,
	}
}

func (s *State) restoreNode(r *ledgerpb.Node) error {
	if err := s.nodeRegistered(r.GetRegisteredAt(), r.GetRegistered()); err != nil {
		return err
	}
	n := s.Nodes[nodeID(r.GetRegistered().GetNode())]
	s.Kept.RemoveNode(n.weight())
	n.State = pb.NodeState(r.GetState())
	n.HealthReport = r.GetHealthReport()
	s.Kept.AddNode(n.weight())
	n.DecommissionDeadline = r.GetDecommissionDeadline()
	return nil
}

func (a *Application) record() *ledgerpb.Application {
	r := &ledgerpb.Application{
		Submitted: &ledgerpb.ApplicationSubmitted{
			App: AppRef(a.ID), User: a.User, Queue: a.Queue, Priority: a.Priority, Context: a.Context,
			MaxAttempts: a.MaxAttempts, Expires: a.Expires, AmResource: Amounts(a.AMResource),
		},
		SubmitTime:          a.SubmitTime,
		LaunchTime:          a.LaunchTime,
		FinishTime:          a.FinishTime,
		State:               int32(a.State),
		FinalStatus:         int32(a.FinalStatus),
		Diagnostics:         a.Diagnostics,
		KillRequested:       a.KillRequested,
		LogAggregation:      int32(a.LogAggregation),
		ResourceSeconds:     Amounts(a.ResourceSeconds).Amount,
		PreemptedSeconds:    Amounts(a.PreemptedSeconds).Amount,
		Preempted:           Amounts(a.Preempted).Amount,
		PreemptedContainers: a.PreemptedContainers,
		PreemptedAms:        a.PreemptedAMs,
	}
	for _, t := range a.Attempts {
		r.Attempts = append(r.Attempts, t.record())
	}
	for c := range a.Containers.All() {
		r.Containers = append(r.Containers, c.record())
	}
	for c := range a.Past.All() {
		r.Past = append(r.Past, c.record())
	}
	r.PastMore, r.Course = a.PastMore, a.Course.Record()
	return r
}

func (t *Attempt) record() *ledgerpb.Attempt {
	return &ledgerpb.Attempt{
		Attempt: t.ID.Attempt, State: int32(t.State),
		StartTime: t.StartTime, LaunchTime: t.LaunchTime, RegisterTime: t.RegisterTime, FinishTime: t.FinishTime,
		AmContainer: t.AMContainer.ID, AmNode: NodeRef(t.AMNode), AmHttpAddress: t.AMHTTPAddress,
		Host: t.Host, RpcPort: t.RPCPort, TrackingUrl: t.TrackingURL,
		FinalStatus: int32(t.FinalStatus), Diagnostics: t.Diagnostics, ExitStatus: t.ExitStatus, Excused: t.Excused,
		LastSequence: t.LastSequence,
	}
}

func (c *Container) record() *ledgerpb.Container {
	r := &ledgerpb.Container{
		Attempt: c.ID.Attempt.Attempt,
		Grant: &ledgerpb.Grant{
			Id: c.ID.ID, Node: NodeRef(c.Node), Resource: Amounts(c.Resource), Priority: c.Priority,
			AllocationRequestId: c.AllocationRequestID, ExecutionType: int32(c.ExecutionType), Am: c.AM, Tags: c.Tags(), Far: c.Far,
		},
		Allocated: c.Allocated, State: int32(c.State), Started: c.Started, Finished: c.Finished,
		ExitStatus: c.ExitStatus, Diagnostics: c.Diagnostic, Level: c.Level, LevelVersion: c.LevelVersion,
		Accepted: c.Times.Accepted, Localized: c.Times.Localized, Launched: c.Times.Launched, Ended: c.Times.Ended,
		Version: c.Version, Resized: c.Resized, Cold: c.Cold,
		Starved: int64(c.NoProcessor), GivenBack: c.GivenBack,
	}
	if c.Asked > 0 {
		r.Grant.Waited = c.Allocated - c.Asked + 1
	}
	e := c.extra()
	if e.confirmed != nil {
		r.Confirmed = Amounts(*e.confirmed)
	}
	if e.held != nil {
		r.Held = Amounts(*e.held)
	}
	r.Suspension = e.suspension.record()
	return r
}

func (s *State) restoreApplication(r *ledgerpb.Application) error {
	a := newApplication(r.GetSubmitted(), r.GetSubmitTime())
	if int(r.GetState()) >= len(appStates) || r.GetState() < 0 {
		return fmt.Errorf("%v: unknown state %d", a.ID, r.GetState())
	}
	if s.Apps[a.ID] != nil {
		return fmt.Errorf("%v is there twice", a.ID)
	}
	a.LaunchTime, a.FinishTime = r.GetLaunchTime(), r.GetFinishTime()
	a.State = AppState(r.GetState())
	a.FinalStatus = pb.FinalApplicationStatus(r.GetFinalStatus())
	a.Diagnostics, a.KillRequested = r.GetDiagnostics(), r.GetKillRequested()
	a.LogAggregation = pb.LogAggregationStatus(r.GetLogAggregation())
	copy(a.ResourceSeconds[:], r.GetResourceSeconds())
	copy(a.PreemptedSeconds[:], r.GetPreemptedSeconds())
	copy(a.Preempted[:], r.GetPreempted())
	a.PreemptedContainers, a.PreemptedAMs = r.GetPreemptedContainers(), r.GetPreemptedAms()
	for _, t := range r.GetAttempts() {
		attempt, err := restoreAttempt(a.ID, t)
		if err != nil {
			return err
		}
		a.Attempts = append(a.Attempts, attempt)
	}
	for _, c := range r.GetPast() {
		past, err := readContainer(a.ID, c)
		if err != nil {
			return err
		}
		a.Past.Add(past)
	}
	a.PastMore, a.Course = r.GetPastMore(), course.Read(r.GetCourse())
	for _, c := range r.GetContainers() {
		if err := s.restoreContainer(a, c); err != nil {
			return err
		}
	}
	s.Apps[a.ID] = a
	a.weigh(s)
	return nil
}

func restoreAttempt(app records.ApplicationID, r *ledgerpb.Attempt) (*Attempt, error) {
	id := records.AttemptID{App: app, Attempt: r.GetAttempt()}
	if int(r.GetState()) >= len(attemptStates) || r.GetState() < 0 {
		return nil, fmt.Errorf("%v: unknown state %d", id, r.GetState())
	}
	t := &Attempt{
		ID: id, State: AttemptState(r.GetState()),
		StartTime: r.GetStartTime(), LaunchTime: r.GetLaunchTime(), RegisterTime: r.GetRegisterTime(),
		FinishTime: r.GetFinishTime(),
		AMNode:     nodeID(r.GetAmNode()), AMHTTPAddress: r.GetAmHttpAddress(),
		Host: r.GetHost(), RPCPort: r.GetRpcPort(), TrackingURL: r.GetTrackingUrl(),
		FinalStatus: pb.FinalApplicationStatus(r.GetFinalStatus()), Diagnostics: r.GetDiagnostics(),
		ExitStatus: r.GetExitStatus(), Excused: r.GetExcused(), LastSequence: r.GetLastSequence(),
	}
	if r.GetAmContainer() != 0 {
		t.AMContainer = records.ContainerID{Attempt: id, ID: r.GetAmContainer()}
	}
	return t, nil
}

// readContainer reads a container of a snapshot.
func readContainer(app records.ApplicationID, r *ledgerpb.Container) (*Container, error) {
	c := newContainer(records.AttemptID{App: app, Attempt: r.GetAttempt()}, r.GetGrant(), r.GetAllocated())
	c.State = ContainerState(r.GetState())
	c.Started, c.Finished = r.GetStarted(), r.GetFinished()
	c.ExitStatus, c.Diagnostic, c.LevelVersion = r.GetExitStatus(), r.GetDiagnostics(), r.GetLevelVersion()
	c.Times = Times{Accepted: r.GetAccepted(), Localized: r.GetLocalized(), Launched: r.GetLaunched(), Ended: r.GetEnded()}
	c.Version, c.Resized, c.Cold = r.GetVersion(), r.GetResized(), r.GetCold()
	c.lacked(r.GetStarved())
	c.GivenBack = r.GetGivenBack()
	if r.GetConfirmed() != nil {
		c.setConfirmed(amounts(r.GetConfirmed()))
	}
	held := c.Resource
	if r.GetHeld() != nil {
		held = amounts(r.GetHeld())
	}
	if err := c.checkLevel(r.GetLevel(), held); err != nil {
		return nil, err
	}
	c.setLevel(r.GetLevel(), held)
	if s := readSuspension(r.GetSuspension()); s != nil {
		c.setSuspension(s)
	}
	return &c, nil
}

func (s *State) restoreContainer(a *Application, r *ledgerpb.Container) error {
	c, err := readContainer(a.ID, r)
	if err != nil {
		return err
	}
	c = a.Containers.Put(c)
	a.reportBytes += int64(len(c.Diagnostic))
	if !c.Live() {
		return nil
	}
	node := s.Nodes[c.Node]
	if node == nil {
		return fmt.Errorf("%v lives on node %v: %w", c.ID, c.Node, ErrUnknown)
	}
	hold(a, node, c)
	return nil
}
