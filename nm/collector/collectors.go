// Package collector connects a node with the collectors of timeline version 2: one for each application, in the JVM of auxiliary services beside its
// ApplicationMaster (Hadoop: PerNodeTimelineCollectorsAuxService). They ask here for the flow of their application and say here where they are (Hadoop:
// NMCollectorService), heartbeats carry that to the ResourceManager and from there to other nodes (Hadoop: NodeStatusUpdaterImpl), and what becomes of
// containers is published to the collector of their application (Hadoop: NMTimelinePublisher).
package collector

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"heddle/yarn/flow"
	"heddle/yarn/ipc"
	"heddle/yarn/pb"
	"heddle/yarn/protocol"
	"heddle/yarn/records"
)

// Bounds of what the node remembers: applications whose collectors it knows, and bytes of one.
const (
	maxKnown = 20000
	maxBytes = 16 << 10
)

// Master is an ApplicationMaster on this node.
type Master struct {
	User     string
	Variable func(name string) string // of its environment
}

// Config configures Collectors. All fields must be set.
type Config struct {
	// Master returns the ApplicationMaster of an application if its container is here.
	Master func(records.ApplicationID) (Master, bool)
	// Here reports whether an application has containers here.
	Here func(records.ApplicationID) bool
	// Admit returns an error for callers who may not be a collector.
	Admit func(context.Context) error
	// Changed is called when the ResourceManager should hear of something soon.
	Changed   func()
	Publisher *Publisher
}

// Collectors are those that this node knows. It is safe for concurrent use.
type Collectors struct {
	Config

	mu          sync.Mutex
	registering map[records.ApplicationID]*pb.AppCollectorData // the ResourceManager hasn't confirmed them
	known       map[records.ApplicationID]*pb.AppCollectorData
}

// New returns one that knows none.
func New(cfg Config) *Collectors {
	return &Collectors{
		Config: cfg, registering: map[records.ApplicationID]*pb.AppCollectorData{},
		known: map[records.ApplicationID]*pb.AppCollectorData{},
	}
}

// Serve serves CollectorNodemanagerProtocol.
func (k *Collectors) Serve(server *ipc.Server) {
	protocol.ReportNewCollectorInfo.Serve(server, k.report)
	protocol.GetTimelineCollectorContext.Serve(server, k.context)
}

// context tells a collector of its application.
func (k *Collectors) context(ctx context.Context, req *pb.GetTimelineCollectorContextRequest) (*pb.GetTimelineCollectorContextResponse, error) {
	if err := k.Admit(ctx); err != nil {
		return nil, err
	}
	id := records.ApplicationIDFrom(req.GetAppId())
	m, ok := k.Master(id)
	if !ok {
		return nil, ipc.NewException(ipc.YarnException, "Application %v doesn't exist on NM.", id)
	}
	f := flow.Parse(m.Variable)
	resp := &pb.GetTimelineCollectorContextResponse{}
	resp.SetUserId(m.User)
	resp.SetFlowName(f.Name)
	resp.SetFlowVersion(f.Version)
	resp.SetFlowRunId(f.Run)
	return resp, nil
}

// report takes the addresses of new collectors.
func (k *Collectors) report(ctx context.Context, req *pb.ReportNewCollectorInfoRequest) (*pb.ReportNewCollectorInfoResponse, error) {
	if err := k.Admit(ctx); err != nil {
		return nil, err
	}
	for _, d := range req.GetAppCollectors() {
		id := records.ApplicationIDFrom(d.GetAppId())
		if _, ok := k.Master(id); !ok || proto.Size(d) > maxBytes {
			return nil, ipc.NewException(ipc.YarnException, "Application %v doesn't exist on NM.", id)
		}
		d = proto.CloneOf(d)
		d.ClearRmIdentifier()
		d.ClearVersion()
		k.mu.Lock()
		k.registering[id] = d
		k.mu.Unlock()
		k.Publisher.At(id, d.GetAppCollectorAddr())
	}
	k.Changed()
	return &pb.ReportNewCollectorInfoResponse{}, nil
}

// Registering returns what the ResourceManager hasn't confirmed.
func (k *Collectors) Registering() (list []*pb.AppCollectorData) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.registering {
		list = append(list, d)
	}
	return list
}

// Registered has the ResourceManager told again of the collectors that run here: it may be another one.
func (k *Collectors) Registered() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, d := range k.known {
		if _, ok := k.Master(id); ok && k.registering[id] == nil {
			k.registering[id] = d
		}
	}
}

// Told takes what the ResourceManager knows of collectors.
func (k *Collectors) Told(list []*pb.AppCollectorData) {
	for _, d := range list {
		id := records.ApplicationIDFrom(d.GetAppId())
		if !k.Here(id) || proto.Size(d) > maxBytes {
			continue
		}
		k.mu.Lock()
		old := k.known[id]
		newer := old == nil || flow.Before(old, d)
		if newer && len(k.known) < maxKnown {
			k.known[id] = d
		}
		if mine := k.registering[id]; mine != nil && mine.GetAppCollectorAddr() == d.GetAppCollectorAddr() {
			delete(k.registering, id)
		}
		k.mu.Unlock()
		if newer {
			k.Publisher.At(id, d.GetAppCollectorAddr())
		}
	}
}

// Ended forgets an application.
func (k *Collectors) Ended(id records.ApplicationID) {
	k.mu.Lock()
	delete(k.registering, id)
	delete(k.known, id)
	k.mu.Unlock()
	k.Publisher.Ended(id)
}
