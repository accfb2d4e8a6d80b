package leader

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"heddle/rm/leader/warming"
	"heddle/yarn/records"
)

// tells is a heartbeat with what a job will read: ranges of files that are named after their hosts.
func (p *peer) tells(app records.ApplicationID, hosts ...string) []warming.Order {
	p.w.t.Helper()
	in := warming.Input{App: app}
	for i, h := range hosts {
		in.Splits = append(in.Splits, warming.Split{File: "/" + h, Offset: int64(i), Length: 10, Hosts: []string{h}})
	}
	return p.news(warming.News{Inputs: []warming.Input{in}})
}

// warms checks what nodes are told to read in their next heartbeats.
func (w *world) warms(what string, nodes []*peer, want ...string) {
	w.t.Helper()
	var got []string
	for _, n := range nodes {
		for _, o := range n.heartbeat().Warming {
			got = append(got, fmt.Sprintf("%s for %s: %d of %d wait, %d ranges", n.node.Host, o.User, o.Waiting, o.Total, len(o.Ranges)))
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func mapsAt(host string, n int32) AllocateCall {
	asks := ask(n)
	asks[0].SetResourceName(host)
	return AllocateCall{Asks: asks}
}

func TestNodesReadAheadOfTheMapsThatWait(t *testing.T) {
	run(t, func(w *world) {
		n1, n2 := &peer{w: w, node: w.node(1)}, &peer{w: w, node: w.node(2)}
		all := []*peer{n1, n2}
		am := w.am(nil)
		app := am.attempt.App
		at, other := n1, n2
		if w.app(app).Current() != nil && w.state().Container(w.app(app).Current().AMContainer).Node == n2.node {
			at, other = n2, n1
		}
		w.warms("at first", all)
		other.tells(app, "n1")
		w.warms("as the node says that hasn't the ApplicationMaster", all)
		// The node of the ApplicationMaster hears of its part at once.
		if own := at.tells(app, at.node.Host, at.node.Host, other.node.Host, "nowhere"); len(own) != 1 || len(own[0].Ranges) != 2 || own[0].Waiting != 2 {
			t.Errorf("it is to read %+v", own)
		}
		am.allocate(mapsAt(at.node.Host, 2))
		am.allocate(mapsAt(at.node.Host, 1))
		w.warms("when a map has started", []*peer{at, other}, at.node.Host+" for alice: 1 of 2 wait, 0 ranges", other.node.Host+" for alice: 1 of 1 wait, 1 ranges")
		am.allocate(mapsAt(at.node.Host, 1))
		reduces := mapsAt(at.node.Host, 0)
		reduces.Asks[0].GetPriority().SetPriority(10)
		am.allocate(reduces)
		w.warms("when nothing has changed", all)
		if err := w.Kill(app, "enough"); err != nil {
			t.Fatal(err)
		}
		w.warms("at its end", all, "n1 for : 0 of 0 wait, 0 ranges", "n2 for : 0 of 0 wait, 0 ranges")
		at.tells(app, "n1")
		w.warms("after its end", all)
	})
}

// staged is a heartbeat that says for how many maps of a job the input is in memory.
func (p *peer) staged(all ...warming.Staged) {
	p.w.t.Helper()
	p.news(warming.News{Staged: all})
}

// news is a heartbeat with what a node says of jobs' input.
func (p *peer) news(all warming.News) []warming.Order {
	p.w.t.Helper()
	r := must[NodeReply](p.w.t)(p.w.HeartbeatNode(NodeCall{
		NodeCaller: atHome, Node: p.node, ResponseID: p.response, Status: NodeStatus{Healthy: true}, Inputs: all,
	}))
	p.response = r.ResponseID
	return r.Warming
}

// A map gets its container where its input is in memory, as the node says, or the node of the ApplicationMaster, which knows what the NameNode has cached. Nobody else is heard.
func TestMapsGoWhereTheirInputIsInMemory(t *testing.T) {
	run(t, func(w *world) {
		n1, n2, n3 := &peer{w: w, node: w.node(1)}, &peer{w: w, node: w.node(2)}, &peer{w: w, node: w.node(3)}
		am := w.am(nil)
		app := am.attempt.App
		first := map[records.NodeID]*peer{n1.node: n1, n2.node: n2, n3.node: n3}[w.state().Container(w.app(app).Current().AMContainer).Node]
		var others []*peer
		for _, n := range []*peer{n1, n2, n3} {
			if n != first {
				others = append(others, n)
			}
		}
		second, third := others[0], others[1]
		hosts := []string{first.node.Host, second.node.Host}
		split := warming.Split{File: "/f", Length: 10, Hosts: hosts}
		first.news(warming.News{Inputs: []warming.Input{{App: app, Splits: []warming.Split{split, split}}}})
		// goes has two maps that may run on either host, and says where they do.
		goes := func() (on []string) {
			t.Helper()
			asks := ask(2)
			for _, h := range hosts {
				a := ask(2)[0]
				a.SetResourceName(h)
				asks = append(asks, a)
			}
			grants := append(am.allocate(AllocateCall{Asks: asks}).Grants, am.allocate(AllocateCall{}).Grants...)
			var release []records.ContainerID
			for _, g := range grants {
				on, release = append(on, g.Node.Host), append(release, g.ID)
			}
			for _, a := range asks {
				a.SetNumContainers(0)
			}
			am.allocate(AllocateCall{Asks: asks, Releases: release})
			return on
		}
		check := func(what string, want ...string) {
			t.Helper()
			if got := goes(); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
		}
		second.staged(warming.Staged{App: app, Maps: 2})
		check("the second node has both", second.node.Host, second.node.Host)
		third.staged(warming.Staged{App: app, Maps: 2}, warming.Staged{App: app, Host: second.node.Host, Maps: 2})
		check("a node isn't heard on what another one has", first.node.Host, first.node.Host)
		first.staged(warming.Staged{App: app, Host: second.node.Host, Maps: 2})
		check("by the NameNode's cache", second.node.Host, second.node.Host)
		first.staged(warming.Staged{App: app, Host: "nowhere", Maps: 2}, warming.Staged{App: app, Maps: 1 << 40})
		check("the first node has more than there is", first.node.Host, first.node.Host)
		if got := w.Inputs().InMemory(); got[second.node] != 2 || got[first.node] != 2 || got[third.node] != 0 {
			t.Errorf("shown in memory: %v", got)
		}
		if err := w.Kill(app, "killed by alice"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.Inputs().InMemory(); len(got) != 0 {
			t.Errorf("shown in memory after the end: %v", got)
		}
	})
}
