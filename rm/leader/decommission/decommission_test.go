package decommission

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/rm/hosts"
	"heddle/rm/leader/loop/looptest"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// world is a working copy with nodes, and stands in for the leader.
type world struct {
	*Hosts
	*testing.T
	loop  *looptest.Loop
	names map[string][]string // of the machines of nodes, by their hosts
	used  map[string]bool     // nodes that live applications have used
	gone  map[string]bool
	young bool // the leadership
	did   []string
}

func run(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, loop: looptest.New(t), names: map[string][]string{}, used: map[string]bool{}, gone: map[string]bool{}}
		log := logrus.New()
		log.SetOutput(io.Discard)
		w.Hosts = New(w.loop, w.loop.State, Config{
			Nodes: w, Timeout: time.Hour, JustBegun: func(time.Time) bool { return w.young }, Switching: func(time.Time) bool { return w.young }, Log: logrus.NewEntry(log),
		})
		for _, host := range []string{"n1", "n2", "n3"} {
			w.node(host)
		}
		test(w)
	})
}

func nodeID(host string) records.NodeID { return records.NodeID{Host: host, Port: 1} }

// node registers a node.
func (w *world) node(host string) {
	_ = w.loop.Do(func() error {
		w.loop.Enter(&ledgerpb.Command{NodeRegistered: &ledgerpb.NodeRegistered{
			Node: ledger.NodeRef(nodeID(host)), Rack: "/r", Capability: ledger.Amounts(records.NewResource(4096, 4)),
		}})
		return nil
	})
}

// lists are those of a file of hosts that may be nodes, and one of those that mustn't. Lines may have a timeout in seconds.
func (w *world) lists(include, exclude string) *hosts.Lists {
	w.Helper()
	var files hosts.Files
	for file, text := range map[*string]string{&files.Include: include, &files.Exclude: exclude} {
		if text == "" {
			continue
		}
		*file = filepath.Join(w.TempDir(), map[bool]string{true: "hosts.xml", false: "hosts"}[text[0] == '<'])
		if err := os.WriteFile(*file, []byte(text), 0o600); err != nil {
			w.Fatal(err)
		}
	}
	lists, err := files.Read()
	if err != nil {
		w.Fatal(err)
	}
	return lists
}

// xml is a list of hosts with a timeout in seconds each.
func xml(host string, timeout int) string {
	return fmt.Sprintf(`<?xml version="1.0"?><hosts><host><name>%s</name><timeout>%d</timeout></host></hosts>`, host, timeout)
}

func (w *world) refresh(lists *hosts.Lists, graceful bool, timeout time.Duration) {
	w.Helper()
	if err := w.RefreshNodes(lists, graceful, timeout); err != nil {
		w.Fatal(err)
	}
}

// expire does what is due.
func (w *world) expire() { _ = w.loop.Do(func() error { w.Tick(w.loop.Now()); return nil }) }

// expect checks what was done to nodes since it was called last.
func (w *world) expect(when string, did ...string) {
	w.Helper()
	if !slices.Equal(w.did, did) {
		w.Errorf("%s: %q, not %q", when, w.did, did)
	}
	w.did = nil
}

func (w *world) does(format string, args ...any) { w.did = append(w.did, fmt.Sprintf(format, args...)) }

// Known implements Nodes, as do the following.
func (w *world) Known(id records.NodeID) bool { return !w.gone[id.Host] }

func (w *world) Names(id records.NodeID) []string {
	if names := w.names[id.Host]; names != nil {
		return names
	}
	return []string{id.Host}
}

func (w *world) Used(id records.NodeID) bool { return w.used[id.Host] }

func (w *world) SetOpen(id records.NodeID, open bool) {
	w.does("%s %s", map[bool]string{true: "open", false: "close"}[open], id.Host)
}

func (w *world) Tell(id records.NodeID, kind pb.NodeUpdateType) { w.does("tell %s %v", id.Host, kind) }

func (w *world) Remove(id records.NodeID, state pb.NodeState) {
	w.gone[id.Host] = true
	w.does("remove %s %v", id.Host, state)
}

func (w *world) deadline(host string) int64 {
	return w.loop.State.Nodes[nodeID(host)].DecommissionDeadline
}

func TestExcludedNodesGoAtOnce(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"] = true
		w.refresh(w.lists("", "n2"), false, hosts.Unset)
		w.expect("excluded", "remove n2 NS_DECOMMISSIONED")
		w.refresh(w.lists("n3", ""), false, hosts.Unset)
		w.expect("on no list", "remove n1 NS_SHUTDOWN")
	})
}

func TestNodesLeaveWhenNobodyNeedsThem(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"] = true
		w.refresh(w.lists("", "n1\nn2"), true, hosts.Unset)
		w.expect("excluded", "close n1", "tell n1 NODE_DECOMMISSIONING", "remove n1 NS_DECOMMISSIONED", "close n2", "tell n2 NODE_DECOMMISSIONING")
		if want := time.Now().Add(time.Hour).UnixMilli(); w.deadline("n2") != want {
			t.Errorf("the deadline is %d, not %d", w.deadline("n2"), want)
		}
		if ids, err := w.Leaving(); err != nil || len(ids) != 2 || ids[1] != nodeID("n2") {
			t.Errorf("leaving are %v, %v", ids, err)
		}
		w.expire()
		w.expect("while it is needed")
		w.used["n2"] = false
		w.expire()
		w.expect("when it isn't needed any more", "remove n2 NS_DECOMMISSIONED")
	})
}

// The timeout of the list counts, then that of the call, then the configured one. None is no end.
func TestTimeoutsOfLeavingNodes(t *testing.T) {
	for name, test := range map[string]struct {
		exclude string
		timeout time.Duration
		want    time.Duration // 0: no end
	}{
		"configured":     {"n2", hosts.Unset, time.Hour},
		"of the call":    {"n2", time.Minute, time.Minute},
		"of the list":    {xml("n2", 7), time.Minute, 7 * time.Second},
		"none, by call":  {"n2", -time.Second, 0},
		"of other hosts": {xml("n9", 7), hosts.Unset, -1},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				w.used["n2"] = true
				w.refresh(w.lists("", test.exclude), true, test.timeout)
				if test.want < 0 {
					w.expect("another host is excluded")
					return
				}
				w.expect("excluded", "close n2", "tell n2 NODE_DECOMMISSIONING")
				if test.want == 0 {
					time.Sleep(1000 * time.Hour)
					w.expire()
					w.expect("without an end")
					return
				}
				time.Sleep(test.want - time.Millisecond)
				w.expire()
				w.expect("before its time is up")
				time.Sleep(time.Millisecond)
				w.expire()
				w.expect("when its time is up", "remove n2 NS_DECOMMISSIONED")
				w.expire()
				w.expect("when it is gone")
			})
		})
	}
}

// A deadline that an earlier leadership has set holds once the present one has lasted for a while: nodes may have been unable to call.
func TestInheritedDeadlinesWaitForAWhile(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"], w.used["n3"] = true, true
		w.refresh(w.lists("", "n2\nn3"), true, time.Minute)
		w.did = nil
		w.Inherit(nodeID("n2"))
		w.Inherit(nodeID("n3"))
		w.NodeLeft(nodeID("n3"))
		w.young = true
		time.Sleep(time.Minute)
		w.expire()
		w.expect("just begun", "remove n3 NS_DECOMMISSIONED")
		w.young = false
		w.expire()
		w.expect("later", "remove n2 NS_DECOMMISSIONED")
	})
}

func TestNewDeadlinesAreNotInherited(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"] = true
		w.Inherit(nodeID("n2"))
		w.young = true
		w.refresh(w.lists("", "n2"), true, 0)
		w.expect("at once", "close n2", "tell n2 NODE_DECOMMISSIONING", "remove n2 NS_DECOMMISSIONED")
	})
}

func TestLeavingNodesMayStay(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"] = true
		w.refresh(w.lists("", "n2"), true, hosts.Unset)
		w.did = nil
		w.refresh(w.lists("", ""), true, hosts.Unset)
		w.expect("wanted again", "open n2", "tell n2 NODE_USABLE")
		if n := w.loop.State.Nodes[nodeID("n2")]; n.State != pb.NodeState_NS_RUNNING || n.DecommissionDeadline != 0 {
			t.Errorf("%+v", n)
		}
		w.refresh(w.lists("", ""), true, hosts.Unset)
		w.expect("once more")
	})
}

func TestLeavingCanBeCutShort(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"], w.used["n3"] = true, true
		w.refresh(w.lists("", "n3\nn2"), true, hosts.Unset)
		w.did = nil
		if err := w.EndDecommissioning(); err != nil {
			t.Fatal(err)
		}
		w.expect("ended", "remove n2 NS_DECOMMISSIONED", "remove n3 NS_DECOMMISSIONED")
	})
}

// A second graceful refresh sets another deadline, and tells nobody anew.
func TestDeadlinesMayBeMoved(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"] = true
		w.refresh(w.lists("", "n2"), true, time.Hour)
		w.did = nil
		w.refresh(w.lists("", "n2"), true, time.Minute)
		w.expect("again")
		if want := time.Now().Add(time.Minute).UnixMilli(); w.deadline("n2") != want {
			t.Errorf("the deadline is %d, not %d", w.deadline("n2"), want)
		}
	})
}

// Machines are listed by what is known of the address that they call from. A node can't come in under the name of another.
func TestNodesRegisterAsListedMachines(t *testing.T) {
	run(t, func(w *world) {
		w.refresh(w.lists("n1\nn2\nn3", "n3"), true, hosts.Unset)
		for _, test := range []struct {
			host  string
			names []string
			text  string
		}{
			{"n1", []string{"n1", "10.0.0.1"}, ""},
			{"n7", []string{"n7"}, "Disallowed NodeManager from  n7, Sending SHUTDOWN signal to the NodeManager."},
			{"n1", []string{"10.6.6.6"}, "it called from 10.6.6.6, which is not its address by the name service"},
		} {
			got, wait := w.Disallowed(nodeID(test.host), test.names, "10.6.6.6")
			if wait {
				t.Errorf("%s is to wait", test.host)
			}
			if test.text == "" && got != "" || !strings.Contains(got, test.text) {
				t.Errorf("%s by %v: %q", test.host, test.names, got)
			}
		}
		if !w.Excluded("n3") || w.Excluded("n1") {
			t.Error("the wrong hosts are excluded")
		}
		if got, _ := w.Disallowed(nodeID("n3"), []string{"n3"}, "10.0.0.3"); got != "" {
			t.Errorf("one that is leaving: %q", got)
		}
	})
}

// After a switch from YARN, each NodeManager that calls from another address than its name's shut down for good.
func TestNodesOfAnotherAddressAreKeptOutAtFirst(t *testing.T) {
	run(t, func(w *world) {
		w.refresh(w.lists("n1", ""), true, hosts.Unset)
		w.young = true
		if why, wait := w.Disallowed(nodeID("n1"), []string{"10.6.6.6"}, "10.6.6.6"); !wait || !strings.Contains(why, "kept out for now") || !strings.Contains(why, "10.6.6.6") {
			t.Errorf("%v, %q", wait, why)
		}
		if why, wait := w.Disallowed(nodeID("n7"), []string{"10.6.6.6"}, "10.6.6.6"); wait || why == "" {
			t.Errorf("one that isn't listed: %v, %q", wait, why)
		}
		w.young = false
		if why, wait := w.Disallowed(nodeID("n1"), []string{"10.6.6.6"}, "10.6.6.6"); wait || !strings.Contains(why, "SHUTDOWN") {
			t.Errorf("later: %v, %q", wait, why)
		}
	})
}

// A node that an administrator drains leaves although no list excludes it; lists that are read again meanwhile don't keep it.
func TestOneNodeIsDrained(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"] = true
		if err := w.Drain(nodeID("n2"), time.Minute); err != nil {
			t.Fatal(err)
		}
		w.expect("drained", "close n2", "tell n2 NODE_DECOMMISSIONING")
		w.refresh(w.lists("", "n1"), true, hosts.Unset)
		w.expect("lists without it", "close n1", "tell n1 NODE_DECOMMISSIONING", "remove n1 NS_DECOMMISSIONED")
		if err := w.Drain(nodeID("n2"), 2*time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute - time.Millisecond)
		w.expire()
		w.expect("before its later deadline")
		time.Sleep(time.Millisecond)
		w.expire()
		w.expect("at its deadline", "remove n2 NS_DECOMMISSIONED")
		if !w.HasLeft(nodeID("n2")) || w.HasLeft(nodeID("n3")) {
			t.Error("its next heartbeat is to be told that it has left, and others aren't")
		}
		w.loop.State.Nodes[nodeID("n2")].State = pb.NodeState_NS_DECOMMISSIONED
		if next := New(w.loop, w.loop.State, Config{}); !next.HasLeft(nodeID("n2")) || next.HasLeft(nodeID("n3")) {
			t.Error("the next leader doesn't know which node has left")
		}
		if why, _ := w.Disallowed(nodeID("n2"), []string{"n2"}, "10.0.0.2"); why != "" || w.HasLeft(nodeID("n2")) {
			t.Errorf("it may not register again: %q", why)
		}
	})
}

func TestADrainedNodeMayStay(t *testing.T) {
	run(t, func(w *world) {
		w.used["n2"], w.used["n3"] = true, true
		for id, want := range map[records.NodeID]string{nodeID("n2"): "is not being decommissioned: it is RUNNING", nodeID("n9"): "is not registered"} {
			if err := w.Recommission(id); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v", id, err)
			}
		}
		if err := w.Drain(nodeID("n2"), -2*time.Second); err != nil {
			t.Fatal(err)
		}
		if d := w.deadline("n2"); d != 0 {
			t.Errorf("the deadline is %d", d)
		}
		w.did = nil
		if err := w.Recommission(nodeID("n2")); err != nil {
			t.Fatal(err)
		}
		w.expect("recommissioned", "open n2", "tell n2 NODE_USABLE")
		w.refresh(w.lists("", "n3"), true, hosts.Unset)
		if err := w.Recommission(nodeID("n3")); err == nil || !strings.Contains(err.Error(), "exclude-path has its host") {
			t.Errorf("one that a list excludes: %v", err)
		}
		w.used["n2"] = false
		if err := w.Drain(nodeID("n2"), hosts.Unset); err != nil {
			t.Fatal(err)
		}
		w.loop.State.Nodes[nodeID("n2")].State = pb.NodeState_NS_DECOMMISSIONED
		if err := w.Recommission(nodeID("n2")); err == nil || !strings.Contains(err.Error(), "has left the cluster. It joins again when its NodeManager is started") {
			t.Errorf("one that has left: %v", err)
		}
	})
}
