package client

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// stockRM keeps rows as Hadoop's LocalityAppPlacementAllocator does.
type stockRM struct {
	rows map[wireID]map[string]*pb.ResourceRequest
	rack func(host string) string
}

func newStockRM(rack func(string) string) *stockRM {
	return &stockRM{map[wireID]map[string]*pb.ResourceRequest{}, rack}
}

func (s *stockRM) update(rows []*pb.ResourceRequest) {
	for _, r := range rows {
		id := wireID{r.GetPriority().GetPriority(), r.GetAllocationRequestId()}
		if s.rows[id] == nil {
			s.rows[id] = map[string]*pb.ResourceRequest{}
		}
		s.rows[id][r.GetResourceName()] = r
	}
}

func (s *stockRM) count(id wireID, name string) int32 { return s.rows[id][name].GetNumContainers() }

// offer allocates what a node can get, at most one container.
func (s *stockRM) offer(host string) (wireID, records.Resource, bool) {
	rack := s.rack(host)
	for id, rows := range s.rows {
		if s.count(id, "*") <= 0 {
			continue
		}
		var use []string
		switch {
		case s.count(id, host) > 0 && s.count(id, rack) > 0:
			use = []string{host, rack, "*"}
		case s.count(id, rack) > 0 && rows[rack].GetRelaxLocality():
			use = []string{rack, "*"}
		case rows["*"].GetRelaxLocality():
			use = []string{"*"}
		default:
			continue
		}
		for _, name := range use {
			rows[name].SetNumContainers(rows[name].GetNumContainers() - 1)
		}
		has, _ := records.ResourceTypes{}.From(rows["*"].GetCapability())
		return id, has, true
	}
	return wireID{}, records.Resource{}, false
}

func messages(changes []change) []*pb.ResourceRequest {
	var out []*pb.ResourceRequest
	for _, ch := range changes {
		out = append(out, ch.message)
	}
	return out
}

// rackOf puts h0 to h2 into /r0, h3 to h5 into /r1 and so on.
func rackOf(host string) string {
	var n int
	_, _ = fmt.Sscanf(host, "h%d", &n)
	return fmt.Sprintf("/r%d", n/3)
}

// Whatever is asked for and withdrawn, a stock ResourceManager allocates exactly as many containers as are wanted, and each
// serves a request that admits its node.
func TestStockResourceManagerServesAllRequests(t *testing.T) {
	var hosts []string
	for i := range 9 {
		hosts = append(hosts, fmt.Sprintf("h%d", i))
	}
	racks := []string{"/r0", "/r1", "/r2"}
	rapid.Check(t, func(t *rapid.T) {
		a := newAsks(rackOf)
		rm := newStockRM(rackOf)
		wanted := map[RequestID]int{}
		requests := map[RequestID]Request{}
		receive := func(host string) bool {
			id, has, ok := rm.offer(host)
			if !ok {
				return false
			}
			p := a.match(id, host, has, nil)
			if p == nil {
				t.Fatalf("a container on %s for %v serves nothing", host, id)
			}
			r := requests[p.id]
			if wanted[p.id]--; wanted[p.id] < 0 {
				t.Fatalf("request %d is served more often than it asked for", p.id)
			}
			if !r.RelaxLocality && len(r.Hosts)+len(r.Racks) > 0 &&
				!slices.Contains(r.Hosts, host) && !slices.Contains(r.Racks, rackOf(host)) {
				t.Fatalf("%+v is served on %s", r, host)
			}
			if r.Priority != id.priority || !r.Resource.FitsIn(has) {
				t.Fatalf("%+v is served by %v of priority %d", r, has, id.priority)
			}
			return true
		}
		tell := func() {
			changes := a.changes(records.ResourceTypes{})
			rm.update(messages(changes))
			a.markSent(changes)
			if again := a.changes(records.ResourceTypes{}); len(again) != 0 {
				t.Fatalf("after everything was sent there is still %v", again[0].message)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) {},
			"request": func(t *rapid.T) {
				r := Request{
					Priority:      int32(rapid.IntRange(0, 1).Draw(t, "priority")),
					Resource:      records.NewResource(int64(rapid.SampledFrom([]int{512, 1024}).Draw(t, "memory")), 1),
					Hosts:         rapid.SliceOfN(rapid.SampledFrom(hosts), 0, 4).Draw(t, "hosts"),
					Racks:         rapid.SliceOfN(rapid.SampledFrom(racks), 0, 2).Draw(t, "racks"),
					RelaxLocality: rapid.Bool().Draw(t, "relax"),
					Count:         rapid.IntRange(0, 3).Draw(t, "count"),
				}
				id := a.add(r)
				requests[id], wanted[id] = r, max(r.Count, 1)
			},
			"withdraw": func(t *rapid.T) {
				if len(requests) == 0 {
					t.Skip()
				}
				ids := make([]RequestID, 0, len(requests))
				for id := range requests {
					ids = append(ids, id)
				}
				slices.Sort(ids)
				id := rapid.SampledFrom(ids).Draw(t, "id")
				n := rapid.IntRange(0, 4).Draw(t, "n")
				if got, want := a.withdraw(id, n), min(n, wanted[id]); got != want {
					t.Fatalf("withdrawing %d of %d took %d", n, wanted[id], got)
				}
				wanted[id] -= min(n, wanted[id])
				tell() // a withdrawal that races an allocation is what surplus containers come from
			},
			"tell": func(*rapid.T) { tell() },
			"offer": func(t *rapid.T) {
				tell()
				receive(rapid.SampledFrom(hosts).Draw(t, "host"))
			},
			"takeover": func(*rapid.T) {
				rm = newStockRM(rackOf)
				a.forget()
				tell()
			},
		})
		tell()
		for again := true; again; {
			again = false
			for _, h := range hosts {
				again = receive(h) || again
				tell()
			}
		}
		for id, n := range wanted {
			if n != 0 {
				t.Errorf("%d containers of %+v never came", n, requests[id])
			}
		}
		if len(a.classes) != 0 || len(a.wanted) != 0 || a.outstanding() != 0 {
			t.Errorf("when all is served there is left: %v, %v", a.classes, a.wanted)
		}
	})
}

func TestRowsOfARequest(t *testing.T) {
	type row struct {
		Name  string
		Count int32
		Relax bool
	}
	small := records.NewResource(1024, 1)
	for _, c := range []struct {
		name    string
		request Request
		want    []row
	}{
		{"anywhere", Request{Resource: small, Count: 3}, []row{{"*", 3, true}}},
		{
			"preferred hosts",
			Request{Resource: small, Hosts: []string{"h4", "h0", "h1"}, RelaxLocality: true},
			[]row{{"*", 1, true}, {"/r0", 1, true}, {"/r1", 1, true}, {"h0", 1, true}, {"h1", 1, true}, {"h4", 1, true}},
		},
		{
			"only on a host",
			Request{Resource: small, Hosts: []string{"h4"}, Count: 2},
			[]row{{"*", 2, false}, {"/r1", 2, false}, {"h4", 2, true}},
		},
		{
			"only in a rack",
			Request{Resource: small, Racks: []string{"/r9"}},
			[]row{{"*", 1, false}, {"/r9", 1, true}},
		},
		{
			"on a host or in another rack",
			Request{Resource: small, Hosts: []string{"h0"}, Racks: []string{"/r9"}},
			[]row{{"*", 1, false}, {"/r0", 1, false}, {"/r9", 1, true}, {"h0", 1, true}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAsks(rackOf)
			a.add(c.request)
			var got []row
			for _, m := range messages(a.changes(records.ResourceTypes{})) {
				got = append(got, row{m.GetResourceName(), m.GetNumContainers(), m.GetRelaxLocality()})
				if m.GetCapability().GetMemory() != 1024 || m.GetExecutionTypeRequest().GetExecutionType() != Guaranteed ||
					m.HasNodeLabelExpression() {
					t.Errorf("row %v", m)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Two shapes at one priority must not share rows: a ResourceManager keeps one capability a key.
func TestShapesHaveKeysOfTheirOwn(t *testing.T) {
	a := newAsks(rackOf)
	a.add(Request{Resource: records.NewResource(1024, 1)})
	a.add(Request{Resource: records.NewResource(2048, 1)})
	a.add(Request{Resource: records.NewResource(2048, 1), Hosts: []string{"h1"}})
	seen := map[int64]bool{}
	for _, m := range messages(a.changes(records.ResourceTypes{})) {
		if m.GetResourceName() == "*" {
			seen[m.GetAllocationRequestId()] = true
		}
	}
	if len(seen) != 3 {
		t.Errorf("allocation request ids: %v", seen)
	}
}

// ResourceManagers before Hadoop 3 return no allocation request id.
func TestContainerWithoutRequestID(t *testing.T) {
	a := newAsks(rackOf)
	a.add(Request{Resource: records.NewResource(1024, 1)})
	big := a.add(Request{Resource: records.NewResource(4096, 1)})
	if p := a.match(wireID{0, -1}, "h0", records.NewResource(4096, 1), nil); p == nil || p.id != big {
		t.Errorf("a container of 4096 MiB serves %+v", p)
	}
	if p := a.match(wireID{7, -1}, "h0", records.NewResource(4096, 1), nil); p != nil {
		t.Errorf("a container of another priority serves %+v", p)
	}
}

// A stock ResourceManager hands out what it had allocated before it looked at new rows.
// Where only memory counts, ResourceManagers grant one core for several.
func TestContainerWithOneCore(t *testing.T) {
	a := newAsks(func(string) string { return defaultRack })
	want := a.add(Request{Resource: records.NewResource(2048, 4)})
	if p := a.match(wireID{0, 0}, "h0", records.NewResource(1024, 1), nil); p != nil {
		t.Errorf("%d is served with too little memory", p.id)
	}
	if p := a.match(wireID{0, 0}, "h0", records.NewResource(2048, 2), nil); p != nil {
		t.Errorf("%d is served with two cores", p.id)
	}
	if p := a.match(wireID{0, 0}, "h0", records.NewResource(2048, 1), nil); p == nil || p.id != want {
		t.Errorf("%+v is served, not %d", p, want)
	}
}

func TestContainersFromBeforeTheRows(t *testing.T) {
	a := newAsks(rackOf)
	a.add(Request{Resource: records.NewResource(1024, 1), Count: 4})
	a.markSent(a.changes(records.ResourceTypes{}))
	a.add(Request{Resource: records.NewResource(1024, 1), Count: 2})
	changes := a.changes(records.ResourceTypes{}) // "*" is 6, while one of the 4 is allocated
	rows := rowsOf(changes)
	a.markSent(changes)
	if a.match(wireID{}, "h0", records.NewResource(1024, 1), rows) == nil {
		t.Fatal("the container serves nothing")
	}
	if again := a.changes(records.ResourceTypes{}); len(again) != 1 || again[0].want != 5 {
		t.Errorf("5 are still wanted, and the ResourceManager believes 6; sent: %v", again)
	}
}

func BenchmarkMatch(b *testing.B) {
	const hosts = 200
	for b.Loop() {
		a := newAsks(rackOf)
		for i := range 10000 {
			a.add(Request{
				Resource: records.NewResource(1024, 1), RelaxLocality: true,
				Hosts: []string{fmt.Sprintf("h%d", i%hosts), fmt.Sprintf("h%d", (i*7)%hosts), fmt.Sprintf("h%d", (i*31)%hosts)},
			})
		}
		a.markSent(a.changes(records.ResourceTypes{}))
		for i := range 10000 {
			if a.match(wireID{}, fmt.Sprintf("h%d", i%hosts), records.NewResource(1024, 1), nil) == nil {
				b.Fatal("not needed")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10000, "ns/container")
}
