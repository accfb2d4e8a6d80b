// Package collectors knows where the collectors of timeline version 2 are, by application. NodeManagers report those that run beside ApplicationMasters;
// ApplicationMasters and the NodeManagers of the application's containers are told (Hadoop: ResourceTrackerService.updateAppCollectorsMap, DefaultAMSProcessor).
//
// It is kept in memory alone: nodes report again what they know when they register with another leader.
package collectors

import (
	"sync"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/yarn/flow"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Bounds of what a node may report: collectors in a heartbeat, and bytes of one.
const (
	maxReported = 1000
	maxBytes    = 16 << 10
)

// Known are the collectors of living applications. It is safe for concurrent use.
type Known struct {
	read    func(func(*ledger.State))
	cluster func() int64 // the ResourceManager's identifier

	mu      sync.Mutex
	version int64
	byApp   map[records.ApplicationID]*pb.AppCollectorData
	most    int // of byApp, before those of ended applications are looked for
}

// New returns one that knows none. read calls a function with the ledger.
func New(read func(func(*ledger.State)), cluster func() int64) *Known {
	return &Known{read: read, cluster: cluster, byApp: map[records.ApplicationID]*pb.AppCollectorData{}}
}

// Beat takes what a node reports in a heartbeat, and answers with the collectors of the applications whose containers it runs. A nil Known does nothing.
func (k *Known) Beat(node records.NodeID, req *pb.NodeHeartbeatRequest, resp *pb.NodeHeartbeatResponse) {
	if k == nil {
		return
	}
	reported := req.GetRegisteringCollectors()
	if len(reported) > maxReported {
		reported = reported[:maxReported]
	}
	here := map[records.ApplicationID]bool{}
	var list []*pb.AppCollectorData
	k.read(func(s *ledger.State) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if n := s.Nodes[node]; n != nil {
			for c := range s.On(n) {
				here[c.ID.Attempt.App] = here[c.ID.Attempt.App] || c.AM
			}
		}
		for _, d := range reported {
			if id := records.ApplicationIDFrom(d.GetAppId()); here[id] { // its ApplicationMaster runs there
				k.take(id, d)
			}
		}
		for id := range here {
			if d := k.byApp[id]; d != nil {
				list = append(list, d)
			}
		}
		k.forget(s)
	})
	resp.SetAppCollectors(list)
}

// take notes a collector unless a later one is known. One that no ResourceManager knew is the latest.
func (k *Known) take(id records.ApplicationID, d *pb.AppCollectorData) {
	if proto.Size(d) > maxBytes {
		return
	}
	d = proto.CloneOf(d)
	if d.GetRmIdentifier() == -1 && d.GetVersion() == -1 {
		k.version++
		d.SetRmIdentifier(k.cluster())
		d.SetVersion(k.version)
	}
	if old := k.byApp[id]; old == nil || flow.Before(old, d) {
		k.byApp[id] = d
	}
}

// forget forgets the collectors of applications that have ended, each time that there are twice as many as lived the last time. The lock is held.
func (k *Known) forget(s *ledger.State) {
	if len(k.byApp) <= k.most {
		return
	}
	for id := range k.byApp {
		if a := s.Apps[id]; a == nil || a.State.Ended() {
			delete(k.byApp, id)
		}
	}
	k.most = max(64, 2*len(k.byApp))
}

// Tell tells an ApplicationMaster of its application's collector, if there is one. A nil Known does nothing.
func (k *Known) Tell(app records.ApplicationID, resp *pb.AllocateResponse) {
	if k == nil {
		return
	}
	k.mu.Lock()
	d := k.byApp[app]
	k.mu.Unlock()
	if d == nil {
		return
	}
	info := &pb.CollectorInfo{}
	info.SetCollectorAddr(d.GetAppCollectorAddr())
	if d.HasAppCollectorToken() {
		info.SetCollectorToken(d.GetAppCollectorToken())
	}
	resp.SetCollectorInfo(info)
}
