package collectors

import (
	"fmt"
	"strings"
	"testing"

	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

var (
	node = records.NodeID{Host: "w1", Port: 1}
	app  = records.ApplicationID{ClusterTimestamp: 1, ID: 7}
)

func data(id records.ApplicationID, address string) *pb.AppCollectorData {
	d := &pb.AppCollectorData{}
	d.SetAppId(id.PB())
	d.SetAppCollectorAddr(address)
	return d
}

// state is a ledger with a node that runs the ApplicationMaster of app, and a task of other.
func state(other records.ApplicationID) *ledger.State {
	s := ledger.New()
	n := &ledger.Node{}
	s.Nodes[node] = n
	for id, master := range map[records.ApplicationID]bool{app: true, other: false} {
		a := &ledger.Application{ID: id}
		s.Apps[id] = a
		c := a.Containers.Put(&ledger.Container{ID: records.ContainerID{Attempt: records.AttemptID{App: id, Attempt: 1}, ID: 1}, AM: master})
		n.Containers = append(n.Containers, c.ID)
	}
	return s
}

func beat(k *Known, at records.NodeID, reported ...*pb.AppCollectorData) []*pb.AppCollectorData {
	req, resp := &pb.NodeHeartbeatRequest{}, &pb.NodeHeartbeatResponse{}
	req.SetRegisteringCollectors(reported)
	k.Beat(at, req, resp)
	return resp.GetAppCollectors()
}

func told(k *Known, id records.ApplicationID) string {
	resp := &pb.AllocateResponse{}
	k.Tell(id, resp)
	return resp.GetCollectorInfo().GetCollectorAddr()
}

// The node of an ApplicationMaster says where the collector is; the ApplicationMaster and the nodes of the application hear of it, and of the latest one.
func TestCollectorsAreKnown(t *testing.T) {
	other := records.ApplicationID{ClusterTimestamp: 1, ID: 8}
	s := state(other)
	k := New(func(f func(*ledger.State)) { f(s) }, func() int64 { return 5 })
	if told(k, app) != "" || len(beat(k, node)) != 0 {
		t.Error("there is a collector")
	}
	list := beat(k, node, data(app, "w1:1"), data(other, "w1:2"), data(records.ApplicationID{ID: 99}, "w1:3"), nil)
	if len(list) != 1 || list[0].GetRmIdentifier() != 5 || told(k, app) != "w1:1" || told(k, other) != "" {
		t.Errorf("%v: a node can name its own ApplicationMasters' collectors alone", list)
	}
	if list := beat(k, records.NodeID{Host: "stranger", Port: 1}, data(app, "evil:1")); len(list) != 0 || told(k, app) != "w1:1" {
		t.Errorf("a node without the application has changed its collector: %v", list)
	}
	stale := data(app, "old:1")
	stale.SetRmIdentifier(4)
	stale.SetVersion(9)
	if beat(k, node, stale); told(k, app) != "w1:1" {
		t.Error("an older one has won")
	}
	if beat(k, node, data(app, "w1:4")); told(k, app) != "w1:4" {
		t.Error("a new one has lost")
	}
	if beat(k, node, data(app, strings.Repeat("x", maxBytes))); told(k, app) != "w1:4" {
		t.Error("an endless address")
	}
	(*Known)(nil).Tell(app, &pb.AllocateResponse{})
	(*Known)(nil).Beat(node, nil, nil)
}

// Collectors of ended applications are forgotten.
func TestEndedApplicationsAreForgotten(t *testing.T) {
	s := state(records.ApplicationID{ClusterTimestamp: 1, ID: 8})
	k := New(func(f func(*ledger.State)) { f(s) }, func() int64 { return 5 })
	beat(k, node, data(app, "w1:1"))
	for i := range int32(1000) {
		k.byApp[records.ApplicationID{ClusterTimestamp: 2, ID: i}] = data(app, fmt.Sprint(i))
	}
	beat(k, node)
	if len(k.byApp) != 1 || told(k, app) != "w1:1" {
		t.Errorf("%d are known", len(k.byApp))
	}
}
