package explain_test

import (
	"testing"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/explain"
	"heddle/rm/scheduler/handle"
	"heddle/yarn/records"

	"github.com/google/go-cmp/cmp"
)

const dominant = "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"

// What a request comes to on a node, in YARN's words.
func TestRequestsOnNodes(t *testing.T) {
	wide := row(1, 1)
	wide.Capability = records.NewResource(1024, 9)
	wider := row(1, 1)
	wider.Capability = records.NewResource(11<<10, 11)
	for name, c := range map[string]struct {
		settings map[string]string
		before   func(s *scheduler.Scheduler, h scheduler.AppHandle)
		rows     []scheduler.Ask
		want     [2]string // on n0, of which 8 GB and 2 vcores of 10 are in use, and on n1, which is empty
	}{
		"closed to the work, and to all": {
			before: func(s *scheduler.Scheduler, _ scheduler.AppHandle) {
				s.At(0).SetOpen(0, scheduler.WorkOf(1))
				s.At(1).SetOpen(1, scheduler.NoWork)
			},
			rows: []scheduler.Ask{row(1, 3)},
			want: [2]string{
				"Node is closed to this kind of work",
				"Node skipped because of off-switch delay",
			},
		},
		"excluded by host and by rack": {
			before: func(s *scheduler.Scheduler, h scheduler.AppHandle) { s.UpdateBlacklist(h, []string{"n0", "/r1"}, nil) },
			want:   [2]string{"Node is blacklisted", "Node is blacklisted"},
		},
		"strictly a host that is full": {
			rows: []scheduler.Ask{only(row(1, 3)), at(row(1, 3), "n0")},
			want: [2]string{
				"Node does not have sufficient resource for request, insufficient resources=[memory-mb]\nrequired=<memory:3072, vCores:3>, available=<memory:2048, vCores:8>",
				"Node skipped because relax locality is not allowed",
			},
		},
		"strictly a rack": {
			rows: []scheduler.Ask{only(row(1, 3)), at(row(1, 3), "/r0")},
			want: [2]string{
				"Node does not have sufficient resource for request, insufficient resources=[memory-mb]\nrequired=<memory:3072, vCores:3>, available=<memory:2048, vCores:8>",
				"Node skipped because relax locality is not allowed",
			},
		},
		"too large": {
			rows: []scheduler.Ask{wider},
			want: [2]string{
				"Node's total resource is insufficient for request, insufficient resources=[memory-mb]\nrequired=<memory:11264, vCores:11>, available=<memory:10240, vCores:10>",
				"Node's total resource is insufficient for request, insufficient resources=[memory-mb]\nrequired=<memory:11264, vCores:11>, available=<memory:10240, vCores:10>",
			},
		},
		"too large, where all resources count": {
			settings: map[string]string{"resource-calculator": dominant},
			rows:     []scheduler.Ask{wider},
			want: [2]string{
				"Node's total resource is insufficient for request, insufficient resources=[memory-mb, vcores]\nrequired=<memory:11264, vCores:11>, available=<memory:10240, vCores:10>",
				"Node's total resource is insufficient for request, insufficient resources=[memory-mb, vcores]\nrequired=<memory:11264, vCores:11>, available=<memory:10240, vCores:10>",
			},
		},
		"too many vcores, where all resources count": {
			settings: map[string]string{"resource-calculator": dominant},
			before:   func(s *scheduler.Scheduler, _ scheduler.AppHandle) { s.At(1).SetOpen(1, scheduler.WorkOf(1)) },
			rows:     []scheduler.Ask{wide},
			want: [2]string{
				"Node does not have sufficient resource for request, insufficient resources=[vcores]\nrequired=<memory:1024, vCores:9>, available=<memory:2048, vCores:8>",
				"Node is closed to this kind of work",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := halves(t, c.settings)
			held := row(1, 1)
			held.Capability = records.NewResource(8192, 2)
			there := at(held, "n0")
			hold(t, s, "root.b", "v", only(held), there)
			h := hold(t, s, "root.a", "u")
			if c.before != nil {
				c.before(s, h)
			}
			rows := c.rows
			if rows == nil {
				rows = []scheduler.Ask{row(1, 1)}
			}
			s.UpdateAsks(h, rows)
			got := s.OnNodes(h, []handle.Node{0, 1})
			if len(got) != 1 || len(got[0]) != 2 {
				t.Fatalf("%+v", got)
			}
			for i, want := range c.want {
				x := explain.Activity{App: -1, From: -1, OnNode: true, State: explain.ActivitySkipped, Diagnostic: want}
				if diff := cmp.Diff(x, got[0][i]); diff != "" {
					t.Errorf("on n%d (- wanted, + said)\n%s", i, diff)
				}
			}
		})
	}
}

// A node that is reserved for a request is told as such to that one, and not to another.
func TestReservedNodesAreRereserved(t *testing.T) {
	s := halves(t, nil)
	hold(t, s, "root.b", "v", only(row(1, 6)), at(row(1, 6), "n0"))
	large := hold(t, s, "root.a", "u", only(row(1, 6)), at(row(1, 6), "n0"))
	other := hold(t, s, "root.b", "v", only(row(1, 5)), at(row(1, 5), "n0"))
	if got := s.OnNodes(large, []handle.Node{0}); got[0][0].State != explain.ActivityReReserved {
		t.Errorf("said %+v", got)
	}
	if got := s.OnNodes(other, []handle.Node{0, 1}); got[0][0].State != explain.ActivitySkipped || got[0][1].State != explain.ActivitySkipped {
		t.Errorf("said %+v", got)
	}
}

// Of very many requests and nodes the most urgent requests are told of; of one request all nodes are.
func TestOnNodesTellsOfTheMostUrgentRequests(t *testing.T) {
	s := halves(t, nil)
	h := hold(t, s, "root.a", "u")
	for i := range int32(1100) {
		r := row(1, 11)
		r.Priority = i
		s.UpdateAsks(h, []scheduler.Ask{r})
	}
	served := row(0, 11) // asks for nothing, but has a row for a host
	there := at(row(1, 11), "n0")
	s.UpdateAsks(h, []scheduler.Ask{served, there})
	many := make([]handle.Node, 10_000)
	for nodes, want := range map[int]int{1: 1000, 20: 1000, 21: 952, 10_000: 2} {
		if got := s.OnNodes(h, many[:nodes]); len(got) != want || len(got[0]) != nodes {
			t.Errorf("of %d nodes %d requests are told, want %d", nodes, len(got), want)
		}
	}
	if got := s.OnNodes(h, make([]handle.Node, 20_001)); len(got) != 1 {
		t.Errorf("of very many nodes %d requests are told, want 1", len(got))
	}
	if got := s.Explain(h); len(got) != 1000 || got[0].Ask.Priority != 1 || got[999].Ask.Priority != 1000 {
		t.Errorf("%d requests are explained", len(got))
	}
}
