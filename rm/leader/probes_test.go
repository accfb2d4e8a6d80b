package leader

import (
	"slices"
	"testing"
	"time"

	"heddle/rm/leader/lending"
	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// probing registers a node that takes probes, or doesn't if the port is 0.
func (w *world) probing(i int, port int32, capability records.Resource, runs ...NodeContainer) (NodeReply, *peer) {
	w.t.Helper()
	reply := must[NodeReply](w.t)(w.RegisterNode(NodeRegistration{
		Node: nodeID(i), HTTPPort: 8042, Capability: capability, Version: "3.4.2", NodeCaller: atHome, Names: []string{atHome.Address},
		Features: []string{"levels"}, ProbePort: port, Containers: runs,
	}))
	return reply, &peer{w: w, node: nodeID(i)}
}

// What nodes are lent for short tasks isn't for containers, and comes back with the configuration.
func TestNodesAreLentResources(t *testing.T) {
	all, lent := records.NewResource(4096, 4), records.NewResource(1024, 2)
	runWorld(t, func(s *Settings) { s.Lending.Least = lent }, func(w *world) {
		for i, test := range []struct {
			port             int32
			has, lent, offer records.Resource
		}{
			{7000, all, lent, all.Sub(lent)},
			{0, all, records.Resource{}, all},
			{-1, all, records.Resource{}, all},
			// Nothing would be left for the smallest container.
			{7000, records.NewResource(1100, 4), records.Resource{}, records.NewResource(1100, 4)},
		} {
			reply, n := w.probing(i+1, test.port, test.has)
			if got := w.state().Nodes[n.node].Capability; reply.FirstLent != test.lent || got != test.offer {
				t.Errorf("node %d: %v is lent and %v offered, not %v and %v", i+1, reply.FirstLent, got, test.lent, test.offer)
			}
		}
		_, n := w.probing(1, 7000, all) // it was restarted
		if got := w.state().Nodes[n.node].Capability; got != all.Sub(lent) {
			t.Errorf("after a restart it offers %v", got)
		}
	})
}

// ApplicationMasters that want to are told where probes are taken. These nodes hear when the application ends.
func TestMastersAreToldOfProbeNodes(t *testing.T) {
	all := records.NewResource(4096, 4)
	runWorld(t, func(s *Settings) { s.Lending.Least = records.NewResource(1024, 2) }, func(w *world) {
		_, n1 := w.probing(1, 7001, all)
		_, n2 := w.probing(2, 7002, all)
		_, n3 := w.probing(3, 0, all)
		for _, n := range []*peer{n1, n2, n3} {
			n.heartbeat()
		}
		am := w.am(nil)
		want := func(come []lending.ProbeNode, gone []records.NodeID) {
			t.Helper()
			r := am.allocate(AllocateCall{Probes: true})
			if !slices.Equal(r.ProbeNodes, come) || !slices.Equal(r.ProbesGone, gone) {
				t.Errorf("told of %v and %v, not of %v and %v", r.ProbeNodes, r.ProbesGone, come, gone)
			}
		}
		if r := am.allocate(AllocateCall{}); len(r.ProbeNodes) > 0 {
			t.Errorf("one that doesn't ask is told of %v", r.ProbeNodes)
		}
		want([]lending.ProbeNode{{ID: n1.node, Port: 7001}, {ID: n2.node, Port: 7002}}, nil)
		want(nil, nil)
		if err := w.UnregisterNode(n2.node, atHome); err != nil {
			t.Fatal(err)
		}
		want(nil, []records.NodeID{n2.node})
		if err := w.Finish(am.attempt, pb.FinalApplicationStatus_APP_SUCCEEDED, "", ""); err != nil {
			t.Fatal(err)
		}
		var told []records.ApplicationID // of the end
		c := w.state().Container(w.app(am.attempt.App).Current().AMContainer)
		for range 2 {
			for _, n := range []*peer{n1, n3} {
				var r NodeReply
				if c.Node == n.node {
					r = n.heartbeat(ended(c.ID, 0))
				} else {
					r = n.heartbeat()
				}
				if n == n1 {
					told = append(told, r.CleanupApps...)
				}
			}
		}
		if !slices.Contains(told, am.attempt.App) {
			t.Errorf("a node that the application knows isn't told of its end, but of %v", told)
		}
	})
}

// ApplicationMasters of short tasks are told which nodes have long ones, and when these have ended. Of applications that say that theirs are short,
// and where short tasks may go anywhere, they aren't told.
func TestMastersAreToldOfLongTasks(t *testing.T) {
	all := records.NewResource(8192, 8)
	for _, c := range []struct {
		rules func(time.Duration, float64) partition.Settings
		tag   string
		want  bool
	}{
		{partition.Eagle, "heddle-task-time:2m", true},
		{partition.Eagle, "", true},
		{partition.Eagle, "heddle-task-time:1m", false},
		{partition.Hawk, "heddle-task-time:2m", false},
	} {
		runWorld(t, func(s *Settings) {
			s.Lending.Least = records.NewResource(1024, 2)
			s.Division.Settings = c.rules(time.Minute, 0)
		}, func(w *world) {
			knows := func(n *peer, want *bool, containers ...NodeContainer) {
				t.Helper()
				if got := n.heartbeat(containers...).Long; (got == nil) != (want == nil) || got != nil && *got != *want {
					t.Errorf("%+v: the node is told of long tasks: %v", c.tag, got)
				}
			}
			yes, no := true, false
			_, n := w.probing(1, 7001, all)
			n.heartbeat()
			am := w.am(func(ctx *pb.ApplicationSubmissionContext) {
				if c.tag != "" {
					ctx.SetApplicationTags([]string{c.tag})
				}
			})
			master := w.state().Container(w.app(am.attempt.App).Current().AMContainer).ID
			want := func(when string, told []lending.ProbeNode) {
				t.Helper()
				if r := am.allocate(AllocateCall{Probes: true}); !slices.Equal(r.ProbeNodes, told) {
					t.Errorf("%+v: %s told of %v, not of %v", c.tag, when, r.ProbeNodes, told)
				}
			}
			n.heartbeat(runs(master))
			want("at first", []lending.ProbeNode{{ID: n.node, Port: 7001}})
			var id records.ContainerID
			grants := am.allocate(AllocateCall{Asks: ask(1)}).Grants
			for len(grants) == 0 {
				n.heartbeat(runs(master))
				grants = am.allocate(AllocateCall{}).Grants
			}
			id = grants[0].ID
			if !c.want {
				knows(n, nil, runs(master), runs(id))
				want("while the container runs", nil)
				return
			}
			knows(n, &yes, runs(master), runs(id))
			want("while the container runs", []lending.ProbeNode{{ID: n.node, Port: 7001, Long: true}})
			knows(n, nil, runs(master), runs(id))
			want("when nothing is new", nil)
			_, n = w.probing(1, 7001, all, runs(master), runs(id)) // as after a standstill: it has forgotten what it was told
			knows(n, &yes, runs(master), runs(id))
			want("when the node has come back", nil)
			knows(n, &no, runs(master), ended(id, 0))
			want("when it has ended", []lending.ProbeNode{{ID: n.node, Port: 7001}})
		})
	}
}

// ApplicationMasters of short tasks are told which nodes are the short partition: at first, when it grows with the cluster, and when one of its nodes goes.
func TestMastersAreToldOfTheShortPartition(t *testing.T) {
	runWorld(t, func(s *Settings) {
		s.Lending.Least = records.NewResource(1024, 2)
		s.Division.Settings = partition.Eagle(time.Minute, 50)
	}, func(w *world) {
		all := records.NewResource(8192, 8)
		peers := map[records.NodeID]*peer{}
		come := func(i int) {
			_, n := w.probing(i, int32(7000+i), all)
			n.heartbeat()
			peers[n.node] = n
		}
		come(1)
		am := w.am(nil)
		short := map[records.NodeID]bool{}
		want := func(count int) {
			t.Helper()
			r := am.allocate(AllocateCall{Probes: true})
			for _, n := range r.ProbeNodes {
				if delete(short, n.ID); n.Short {
					short[n.ID] = true
				}
			}
			for _, id := range r.ProbesGone {
				delete(short, id)
			}
			for id := range peers {
				if place, _ := w.Place(id); place.Short != short[id] {
					t.Errorf("%v is of the short partition: %v, as masters are told: %v", id, place.Short, short[id])
				}
			}
			if len(short) != count {
				t.Errorf("masters know of %v, not of %d nodes", short, count)
			}
		}
		want(0)
		come(2)
		want(1)
		come(3)
		come(4)
		want(2)
		var gone []int
		for i := 1; i <= 4; i++ {
			if !short[nodeID(i)] {
				continue
			}
			if err := w.UnregisterNode(nodeID(i), atHome); err != nil {
				t.Fatal(err)
			}
			delete(peers, nodeID(i))
			gone = append(gone, i)
		}
		want(1)
		for i := 5; i <= 22; i++ {
			come(i)
		}
		want(10)
		for _, i := range gone { // not all come back to the short partition
			come(i)
		}
		want(11)
	})
}

// Long work isn't placed on nodes of the short partition, not even ApplicationMasters; short work is. It waits if no other node has room.
func TestShortPartitionTakesNoLongWork(t *testing.T) {
	const nodes = 10
	all := records.NewResource(4000, 4)
	for tag, want := range map[string]int{"heddle-task-time:2m": 9, "heddle-task-time:1s": 10} {
		runWorld(t, func(s *Settings) { s.Division.Settings = partition.Eagle(time.Minute, 10) }, func(w *world) {
			var peers []*peer
			for i := range nodes {
				_, n := w.probing(i+1, 0, all)
				n.heartbeat()
				peers = append(peers, n)
			}
			am := w.am(func(ctx *pb.ApplicationSubmissionContext) { ctx.SetApplicationTags([]string{tag}) })
			held := map[records.NodeID]bool{}
			call := AllocateCall{Asks: ask(100)}
			for range 20 {
				for _, g := range am.allocate(call).Grants {
					held[g.Node] = true
				}
				call = AllocateCall{}
				for _, n := range peers {
					n.heartbeat()
				}
			}
			held[w.state().Container(w.app(am.attempt.App).Current().AMContainer).Node] = true
			if len(held) != want {
				t.Errorf("%s: containers are on %d of %d nodes, not on %d", tag, len(held), nodes, want)
			}
		})
	}
}

// While short tasks wait, nodes are lent more of what is free, and give it back when they don't use it any more.
func TestLentAmountsFollowWaits(t *testing.T) {
	all := records.NewResource(4096, 4)
	lent := lending.Settings{
		Least: records.NewResource(1024, 1), Most: records.NewResource(3072, 3), Longest: 10 * time.Second, Window: time.Minute,
	}
	runWorld(t, func(s *Settings) { s.Lending = lent }, func(w *world) {
		_, n := w.probing(1, 7000, all)
		now := lent.Least
		// beat is a heartbeat each second, for a while, of a node that uses so much and whose tasks have waited so long.
		beat := func(seconds int, used records.Resource, wait time.Duration) {
			t.Helper()
			for range seconds {
				time.Sleep(time.Second)
				r := must[NodeReply](t)(w.HeartbeatNode(NodeCall{
					NodeCaller: atHome, Node: n.node, ResponseID: n.response, Status: NodeStatus{
						Healthy: true, ShortTasks: &lending.Report{Lent: now, Used: used, News: lending.News{Started: 1, Waited: wait}},
					},
				}))
				if got, _, ok := w.Node(n.node); !ok || got.ShortTasks == nil || got.ShortTasks.Lent != now {
					t.Fatalf("the node is said to have %+v", got)
				}
				if n.response = r.ResponseID; r.Lent != nil {
					now = *r.Lent
				}
			}
		}
		want := func(when string, lent, rest records.Resource) {
			t.Helper()
			if got := w.state().Nodes[n.node].Capability; now != lent || got != rest {
				t.Errorf("%s: %v is lent and %v offered, not %v and %v", when, now, got, lent, rest)
			}
		}
		beat(30, lent.Least, 10*time.Second)
		want("before the first window ends", lent.Least, records.NewResource(3072, 3))
		beat(40, lent.Least, 10*time.Second)
		want("after it", lent.Most, records.NewResource(1024, 1))
		beat(130, lent.Most, 0) // the next window has some of those waits
		want("when the node still uses more", lent.Least, records.NewResource(1024, 1))
		beat(2, lent.Least, 0)
		want("when it uses no more", lent.Least, records.NewResource(3072, 3))
	})
}
