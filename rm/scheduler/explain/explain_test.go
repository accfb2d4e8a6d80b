package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/schedulertest"
	"heddle/yarn/records"
)

var gb, row, at, only = schedulertest.GB, schedulertest.Row, schedulertest.At, schedulertest.Only

// halves returns a scheduler with two queues of half of the cluster each, and two nodes of 10 GB: n0 in /r0 and n1 in /r1.
func halves(t *testing.T, more map[string]string) *scheduler.Scheduler {
	t.Helper()
	s := scheduler.New(scheduler.Config{Tree: schedulertest.Halves(t, more), Minimum: gb(1), Heartbeat: time.Second})
	s.AddNode(scheduler.NodeSpec{Host: "n0", Rack: "/r0", Capability: gb(10)})
	s.AddNode(scheduler.NodeSpec{Host: "n1", Rack: "/r1", Capability: gb(10)})
	return s
}

var seq int64

// hold has an application of a user hold containers.
func hold(t *testing.T, s *scheduler.Scheduler, path, user string, rows ...scheduler.Ask) scheduler.AppHandle {
	t.Helper()
	seq++
	h := s.AddApp(scheduler.AppSpec{Queue: path, User: user, Seq: seq, AM: gb(1)})
	s.UpdateAsks(h, rows)
	s.Schedule(0)
	return h
}

// must has exactly one reason be given, and be this. The words of Text and Free are compared where they are wanted.
func must(t *testing.T, got []explain.Reason, want explain.Reason) {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("%d reasons: %+v", len(got), got)
	}
	if diff := cmp.Diff(want, got[0], cmpopts.IgnoreFields(explain.Reason{}, "Ask")); diff != "" {
		t.Errorf("(- wanted, + said)\n%s", diff)
	}
}

// Each kind of reason: whose limit it is, its words, and its figures.
func TestReasons(t *testing.T) {
	none := explain.Reason{Node: -1, Behind: -1, Open: 2}
	with := func(change func(*explain.Reason)) explain.Reason {
		r := none
		change(&r)
		return r
	}
	for name, c := range map[string]struct {
		settings map[string]string
		before   func(s *scheduler.Scheduler)
		user     string
		rows     []scheduler.Ask
		want     explain.Reason
	}{
		"applications of a queue": {
			settings: map[string]string{"root.max-parallel-apps": "1"},
			before:   func(s *scheduler.Scheduler) { hold(t, s, "root.b", "v", row(1, 1)) },
			want: with(func(r *explain.Reason) {
				r.Limit, r.Queue = explain.ParallelApps, "root"
				r.Text = "queue root has 1 applications running at once, and may have 1"
				r.Free = "the end of one of them, or a higher max-parallel-apps (maxRunningApps)"
			}),
		},
		"applications of a user": {
			settings: map[string]string{"user.u.max-parallel-apps": "2"},
			before: func(s *scheduler.Scheduler) {
				hold(t, s, "root.b", "u", row(1, 1))
				hold(t, s, "root.b", "u", row(1, 1))
			},
			want: with(func(r *explain.Reason) {
				r.Limit, r.User = explain.ParallelApps, "u"
				r.Text = "user u has 2 applications running at once, and may have 2"
				r.Free = "the end of one of them, or a higher limit of the user"
			}),
		},
		"ApplicationMasters of a queue": {
			settings: map[string]string{"root.a.maximum-am-resource-percent": "0.1"},
			before: func(s *scheduler.Scheduler) {
				hold(t, s, "root.a", "v", row(1, 1))
				hold(t, s, "root.a", "v", row(1, 1))
			},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Queue, r.Used, r.Bound = explain.QueueMasters, "root.a", gb(2), gb(2)
				r.Short = records.NewResource(1024, 0)
				r.Text = "ApplicationMasters of queue root.a have <memory:2048, vCores:2> and may have <memory:2048, vCores:2>; <memory:1024, vCores:1> more is too much"
				r.Free = "the end of an application of the queue, or a higher maximum-am-resource-percent (maxAMShare)"
			}),
		},
		"the maximum of a queue above": {
			settings: map[string]string{
				"root.a.maximum-capacity": "40", "root.a.capacity": "40", "root.b.capacity": "60", "root.a.queues": "x,y",
				"root.a.x.capacity": "50", "root.a.x.user-limit-factor": "10", "root.a.y.capacity": "50", "root.a.y.user-limit-factor": "10",
			},
			before: func(s *scheduler.Scheduler) { hold(t, s, "root.a.y", "v", row(3, 2)) },
			rows:   []scheduler.Ask{row(1, 5)},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Queue, r.Used, r.Bound = explain.QueueMaximum, "root.a", gb(6), gb(8)
				r.Short = records.NewResource(3072, 0)
				r.Text = "queue root.a has <memory:6144, vCores:6> and may have <memory:8192, vCores:8> at most; for <memory:5120, vCores:5> it lacks <memory:3072, vCores:0>"
				r.Free = "the end of containers of the queue, or a higher maximum-capacity (maxResources)"
			}),
		},
		"nodes that are full": {
			before: func(s *scheduler.Scheduler) {
				hold(t, s, "root.b", "v", only(row(1, 10)), at(row(1, 10), "n0"))
				hold(t, s, "root.b", "v", only(row(1, 9)), at(row(1, 9), "n1"))
			},
			rows: []scheduler.Ask{only(row(1, 4)), at(row(1, 4), "n0"), at(row(1, 4), "n1")},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Node, r.Host, r.Eligible, r.Short = explain.ClusterFull, 1, "n1", 2, records.NewResource(3072, 0)
				r.Text = "no node has <memory:4096, vCores:4> free: n1, which comes nearest, lacks <memory:3072, vCores:0>"
				r.Free = "the end of containers on a node that is large enough, or another node"
			}),
		},
		"no node that is large enough": {
			before: func(s *scheduler.Scheduler) { s.At(1).SetCapability(1, gb(12)) },
			rows:   []scheduler.Ask{row(1, 13)},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Node, r.Host, r.Short = explain.TooLarge, 1, "n1", records.NewResource(1024, 0)
				r.Text = "no node is large enough for <memory:13312, vCores:13>: n1, the largest, lacks <memory:1024, vCores:0>"
				r.Free = "a larger node, or a smaller request"
			}),
		},
		"no node that is asked for": {
			rows: []scheduler.Ask{only(row(1, 1)), at(row(1, 1), "n7"), only(at(row(1, 1), "/r1"))},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Short = explain.WrongPlace, records.NewResource(1024, 0)
				r.Text = "none of the 2 nodes that take containers is one that the request admits"
				r.Free = "one of the hosts or racks that are asked for, or a request that relaxes locality"
			}),
		},
		"nodes that are closed to the work": {
			before: func(s *scheduler.Scheduler) {
				s.At(0).SetOpen(0, scheduler.WorkOf(1))
				s.At(1).SetOpen(1, scheduler.WorkOf(1))
			},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Short = explain.WrongPlace, records.NewResource(1024, 0)
				r.Text = "each of the 2 nodes that the request admits is closed to its kind of work"
				r.Free = "a node that is open to it"
			}),
		},
		"excluded nodes": {
			settings: map[string]string{},
			rows:     []scheduler.Ask{only(row(1, 1)), at(row(1, 1), "/r1")},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Short = explain.Blacklisted, records.NewResource(1024, 0)
				r.Text = "the application excludes each of the 1 nodes that the request admits (/r1, n7)"
				r.Free = "the application's taking a node off its blacklist, or another node"
			}),
		},
		"a closed node, and another one that isn't asked for": {
			before: func(s *scheduler.Scheduler) { s.At(0).SetOpen(0, scheduler.WorkOf(1)) },
			rows:   []scheduler.Ask{only(row(1, 1)), at(row(1, 1), "/r0")},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Short = explain.WrongPlace, records.NewResource(1024, 0)
				r.Text = "each of the 1 nodes that the request admits is closed to its kind of work"
				r.Free = "a node that is open to it"
			}),
		},
		"nodes that take nothing": {
			before: func(s *scheduler.Scheduler) {
				s.At(0).SetOpen(0, scheduler.NoWork)
				s.At(1).SetOpen(1, scheduler.NoWork)
			},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Short, r.Open = explain.NoNodes, gb(1), 0
				r.Text = "no node takes containers: none is registered and healthy"
				r.Free = "a node that registers"
			}),
		},
		"one node that is closed to the work, one that is too small": {
			before: func(s *scheduler.Scheduler) { s.At(0).SetOpen(0, scheduler.WorkOf(1)); s.At(1).SetCapability(1, gb(4)) },
			rows:   []scheduler.Ask{row(1, 5)},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Node, r.Host, r.Short = explain.TooLarge, 1, "n1", records.NewResource(1024, 0)
				r.Text = "no node is large enough for <memory:5120, vCores:5>: n1, the largest, lacks <memory:1024, vCores:0>; 1 nodes more are closed to its kind of work"
				r.Free = "a larger node, or a smaller request"
			}),
		},
		"one node that takes nothing, one that is too small": {
			before: func(s *scheduler.Scheduler) { s.At(0).SetOpen(0, scheduler.NoWork); s.At(1).SetCapability(1, gb(4)) },
			rows:   []scheduler.Ask{row(1, 5)},
			want: with(func(r *explain.Reason) {
				r.Limit, r.Node, r.Host, r.Short, r.Open = explain.TooLarge, 1, "n1", records.NewResource(1024, 0), 1
				r.Text = "no node is large enough for <memory:5120, vCores:5>: n1, the largest, lacks <memory:1024, vCores:0>"
				r.Free = "a larger node, or a smaller request"
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := halves(t, c.settings)
			if c.before != nil {
				c.before(s)
			}
			path, rows := "root.a", c.rows
			if c.settings["root.a.queues"] != "" {
				path = "root.a.x"
			}
			if rows == nil {
				rows = []scheduler.Ask{row(1, 1)}
			}
			h := hold(t, s, path, "u")
			if c.want.Limit == explain.Blacklisted {
				s.UpdateBlacklist(h, []string{"n7", "/r1"}, nil)
			}
			s.UpdateAsks(h, rows)
			s.Schedule(0)
			must(t, s.Explain(h), c.want)
		})
	}
}

// The reason carries the row for any node, with the count that is pending.
func TestReasonsNameTheirRequests(t *testing.T) {
	s := halves(t, nil)
	urgent, other, served := row(3, 11), row(2, 12), row(1, 1)
	urgent.Priority, other.Priority, served.Priority = 1, 2, 0
	urgent.AllocationRequestID = 7
	h := hold(t, s, "root.a", "u", other, urgent, served)
	var got []scheduler.Ask
	for _, r := range s.Explain(h) {
		got = append(got, r.Ask)
	}
	if diff := cmp.Diff([]scheduler.Ask{urgent, other}, got); diff != "" {
		t.Error(diff)
	}
}

// A node that is reserved for a container is named to it, and to others that the node would have room for.
func TestReservedNodes(t *testing.T) {
	s := halves(t, map[string]string{"root.a.maximum-capacity": "100"})
	hold(t, s, "root.b", "v", only(row(1, 6)), at(row(1, 6), "n0"))
	large := hold(t, s, "root.a", "u", only(row(2, 6)), at(row(2, 6), "n0"))
	must(t, s.Explain(large), explain.Reason{
		Limit: explain.HasReservation, Node: 0, Host: "n0", Behind: -1, Open: 2, Eligible: 1, Used: gb(6), Bound: gb(10), Short: records.NewResource(2048, 0),
		Text: "n0 is reserved for it (1 of 2 reservations), and lacks <memory:2048, vCores:0> yet",
		Free: "the end of containers on that node, or room for it on another",
	})
	must(t, s.Explain(hold(t, s, "root.b", "w", only(row(1, 3)), at(row(1, 3), "n0"))), explain.Reason{
		Limit: explain.Reserved, Node: 0, Host: "n0", Behind: -1, Open: 2, Eligible: 1, Short: records.NewResource(3072, 0),
		Text: "n0 has room for <memory:3072, vCores:3>, and is reserved for another container",
		Free: "the end of the reservation, or containers that end elsewhere",
	})
}

// A request of a size that another application asks for too is told the same, whatever was found out before.
func TestExplainingAllIsExplainingEach(t *testing.T) {
	s := halves(t, nil)
	hold(t, s, "root.b", "v", only(row(1, 9)), at(row(1, 9), "n0"))
	apps := []scheduler.AppHandle{
		hold(t, s, "root.b", "v", row(1, 11)),
		hold(t, s, "root.b", "w", row(1, 11)),
		hold(t, s, "root.b", "w", only(row(1, 11)), at(row(1, 11), "n0")),
	}
	picky := hold(t, s, "root.b", "y")
	s.UpdateBlacklist(picky, []string{"n1"}, nil)
	s.UpdateAsks(picky, []scheduler.Ask{row(1, 11)})
	s.Schedule(0)
	apps = append(apps, picky, hold(t, s, "root.b", "x", row(1, 12)), hold(t, s, "root.b", "x", row(1, 1), row(1, 30)))
	var each, all [][]explain.Reason
	for _, h := range apps {
		each = append(each, s.Explain(h))
	}
	s.ExplainAll(apps, func(r []explain.Reason) bool {
		all = append(all, r)
		return true
	})
	if diff := cmp.Diff(each, all); diff != "" {
		t.Errorf("(- each, + all)\n%s", diff)
	}
	if r := each[2][0]; r.Node != 0 || r.Eligible != 0 || r.Limit != explain.TooLarge {
		t.Errorf("of one host it is said: %+v", r)
	}
	told := 0
	s.ExplainAll(apps, func([]explain.Reason) bool {
		told++
		return told < 2
	})
	if told != 2 {
		t.Errorf("%d are explained after the end was wanted with the second", told)
	}
}

// What-if answers of a container that nobody asks for.
func TestWhatIf(t *testing.T) {
	s := halves(t, map[string]string{"root.a.maximum-capacity": "50", "root.a.max-parallel-apps": "1", "root.b.maximum-am-resource-percent": "0.1"})
	hold(t, s, "root.a", "v", row(4, 1))
	hold(t, s, "root.b", "v", row(2, 1))
	for name, c := range map[string]struct {
		path   string
		size   int64
		master bool
		limit  explain.Limit
		text   string
		node   string
	}{
		"a master of a queue with too many applications": {"root.a", 1, true, explain.ParallelApps, "queue root.a has 1 applications running at once", ""},
		"a container of one of them":                     {"root.a", 1, false, explain.NoLimit, "it would start at once", ""},
		"a large master":                                 {"root.b", 3, true, explain.QueueMasters, "ApplicationMasters of queue root.b have <memory:1024, vCores:1>", ""},
		"a large container":                              {"root.b", 3, false, explain.NoLimit, "it would start at once", ""},
		"above the maximum":                              {"root.a", 7, false, explain.QueueMaximum, "queue root.a has <memory:4096, vCores:4> and may have <memory:10240, vCores:10> at most", ""},
		"on no node":                                     {"root.b", 11, false, explain.TooLarge, "no node is large enough", "n"},
		"now on no node":                                 {"root.b", 10, false, explain.ClusterFull, "no node has <memory:10240, vCores:10> free", "n"},
	} {
		r, err := s.WhatIf(c.path, "u", gb(c.size), c.master)
		if err != nil {
			t.Fatal(err)
		}
		if r.Limit != c.limit || !strings.HasPrefix(r.Text, c.text) || !strings.HasPrefix(r.Host, c.node) || (r.Host == "") != (c.node == "") {
			t.Errorf("%s: said %s: %s (%s)", name, r.Limit, r.Text, r.Host)
		}
		if r.Ask != row(1, c.size) || r.Behind != -1 || r.Open != 2 {
			t.Errorf("%s: of %+v, behind %d, of %d nodes", name, r.Ask, r.Behind, r.Open)
		}
	}
	seq++
	h := s.AddApp(scheduler.AppSpec{Queue: "root.b", User: "w", Seq: seq})
	s.UpdateAsks(h, []scheduler.Ask{row(1, 1)})
	s.Schedule(0)
	s.UpdateAsks(h, []scheduler.Ask{row(1, 1)})
	if r, err := s.WhatIf("root.b", "u", gb(1), false); err != nil || r.Text != "there is room for it; it would start after what is waiting in the queue already" {
		t.Errorf("%v: %+v", err, r)
	}
	for _, path := range []string{"root", "root.none"} {
		if _, err := s.WhatIf(path, "u", gb(1), false); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A request that waits for a better place is told for how long yet; the end of the delay is no delay any more.
func TestDelaysForLocality(t *testing.T) {
	s := halves(t, map[string]string{"node-locality-delay": "2", "rack-locality-additional-delay": "0"})
	hold(t, s, "root.b", "v", only(row(1, 10)), at(row(1, 10), "n0"))
	h := hold(t, s, "root.a", "u")
	s.Schedule(1000)
	s.UpdateAsks(h, []scheduler.Ask{row(1, 1), at(row(1, 1), "n0")})
	s.Schedule(1000)
	must(t, s.Explain(h), explain.Reason{
		Limit: explain.LocalityDelay, Node: -1, Behind: -1, Open: 2, Eligible: 2, Until: 2000,
		Text: "it waits 1000 ms longer for room on one of the hosts or racks that it prefers",
		Free: "room there, or the end of the delay (node-locality-delay)",
	})
	s.Schedule(1400)
	if r := s.Explain(h)[0]; r.Text != "it waits 600 ms longer for room on one of the hosts or racks that it prefers" || r.Until != 2000 {
		t.Errorf("said %+v", r)
	}
}

// What nothing holds is served with the next decisions, after others.
func TestNothingHoldsARequest(t *testing.T) {
	s := halves(t, nil)
	h := hold(t, s, "root.a", "u")
	s.UpdateAsks(h, []scheduler.Ask{row(1, 2)})
	must(t, s.Explain(h), explain.Reason{
		Limit: explain.OthersFirst, Node: -1, Behind: -1, Open: 2, Eligible: 2,
		Text: "there is room for <memory:2048, vCores:2>; others are served first", Free: "the next decisions",
	})
	seq++
	waiting := s.AddApp(scheduler.AppSpec{Queue: "root.a", User: "u", Seq: seq, AM: gb(1)})
	s.UpdateAsks(waiting, []scheduler.Ask{row(1, 2)})
	must(t, s.Explain(waiting), explain.Reason{
		Limit: explain.QueueMasters, Node: -1, Behind: -1, Open: 2, Queue: "root.a",
		Text: "the limit of queue root.a on ApplicationMasters admits it now", Free: "the next look at the limit, at most half a second from now",
	})
}

// A queue at its maximum is said to be so also by what is reserved for it on nodes.
func TestReservationsCountInWhatAQueueHas(t *testing.T) {
	s := halves(t, map[string]string{"root.a.maximum-capacity": "60"})
	for _, host := range []string{"n0", "n1"} {
		hold(t, s, "root.b", "v", only(row(1, 7)), at(row(1, 7), host))
	}
	hold(t, s, "root.a", "u", row(1, 5)) // is reserved, as no node has 5 GB free
	got := s.Explain(hold(t, s, "root.a", "u", row(1, 8)))
	if len(got) != 1 || got[0].Limit != explain.QueueMaximum || got[0].Used != gb(5) ||
		!strings.HasSuffix(got[0].Text, "(<memory:5120, vCores:5> of it is reserved on nodes)") {
		t.Errorf("%+v", got)
	}
}
