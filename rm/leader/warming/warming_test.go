package warming

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/yarn/records"
)

func app(i int32) records.ApplicationID { return records.ApplicationID{ClusterTimestamp: 1, ID: i} }

var am = records.NodeID{Host: "am", Port: 1}

func nodeOf(host string) (records.NodeID, bool) {
	return records.NodeID{Host: host, Port: 1}, host != "gone"
}

// split has its file named after its number.
func split(i int, hosts ...string) Split {
	return Split{File: fmt.Sprint(i), Offset: int64(i), Length: 10, Hosts: hosts}
}

// described is what nodes are to read: file and position.
func described(sent []Sent) (out []string) {
	for _, s := range sent {
		text := fmt.Sprintf("%s %d/%d:", s.Node.Host, s.Waiting, s.Total)
		for _, r := range s.Ranges {
			text += fmt.Sprintf(" %s@%d", r.File, r.Position)
		}
		out = append(out, text)
	}
	return out
}

func check(t *testing.T, what string, got []Sent, want ...string) {
	t.Helper()
	if got := described(got); !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestEachRangeIsReadOnTheHostThatComesToItFirst(t *testing.T) {
	var js Jobs
	got := js.Learn(app(1), "alice", am, []Split{
		split(0, "a", "b"), split(1, "b", "c"), split(2, "a", "gone"), split(3, "c", "a", "c"), split(4, "gone"), {Hosts: []string{"b"}},
	}, nodeOf)
	check(t, "learned", got, "a 3/3: 0@0 2@1", "b 3/3: 1@1", "c 2/2: 3@1")
	if got[0].User != "alice" || got[0].App != app(1) || got[0].Ranges[1].Offset != 2 || got[0].Ranges[1].Length != 10 {
		t.Errorf("%+v", got[0])
	}
}

func TestNodesHearHowManyMapsWait(t *testing.T) {
	var js Jobs
	waiting := func(host string, n int, want string) {
		t.Helper()
		o, tell := js.Waiting(app(1), host, n)
		if !tell {
			if want != "" {
				t.Errorf("%d at %s: nothing to tell, want %s", n, host, want)
			}
			return
		}
		if got := fmt.Sprintf("%s %d/%d", o.Node.Host, o.Order.Waiting, o.Total); got != want || o.Ranges != nil {
			t.Errorf("%d at %s: %s, want %q", n, host, got, want)
		}
	}
	waiting("a", 1, "")
	splits := []Split{split(0, "a"), split(1, "a", "b"), split(2, "a")}
	check(t, "learned", js.Learn(app(1), "alice", am, splits, nodeOf), "a 3/3: 0@0 2@2", "b 1/1: 1@0")
	waiting("a", 3, "")
	waiting("a", 2, "a 2/3")
	waiting("a", 3, "") // a map has failed
	waiting("nowhere", 0, "")
	waiting("b", 0, "") // it has asked for nothing yet
	waiting("b", 1, "")
	waiting("b", 0, "b 0/1")
	check(t, "learned again", js.Learn(app(1), "alice", am, splits, nodeOf), "a 2/3: 0@0 2@2")
	waiting("a", -1, "a 0/3")
	if got := js.End(app(1)); len(got) != 0 || js.Knows(app(1)) {
		t.Errorf("at the end of a job whose maps have all started: %q", described(got))
	}
}

// An ApplicationMaster asks for the maps of a large job little by little.
func TestFirstRequestsSayNothingOfHowManyWait(t *testing.T) {
	var js Jobs
	var splits []Split
	for i := range 10 {
		splits = append(splits, split(i, "a"))
	}
	js.Learn(app(1), "alice", am, splits, nodeOf)
	for _, step := range []struct{ asked, left int }{{2, 0}, {6, 0}, {5, 9}, {9, 0}, {8, 0}, {7, 8}, {8, 0}, {1, 2}, {0, 0}} {
		o, tell := js.Waiting(app(1), "a", step.asked)
		if tell != (step.left > 0 || step.asked == 0) || o.Order.Waiting != step.left {
			t.Errorf("%d are asked for: %d wait, told: %v", step.asked, o.Order.Waiting, tell)
		}
	}
}

func TestEndOfAJobEndsItsOrders(t *testing.T) {
	var js Jobs
	js.Learn(app(1), "alice", am, []Split{split(0, "a"), split(1, "b")}, nodeOf)
	js.Waiting(app(1), "b", 1)
	js.Waiting(app(1), "b", 0)
	check(t, "ended", js.End(app(1)), "a 0/0:")
	check(t, "ended twice", js.End(app(1)))
	check(t, "nothing on nodes", js.Learn(app(2), "alice", am, []Split{split(0, "gone")}, nodeOf))
	if js.Knows(app(2)) {
		t.Error("a job that nobody can warm is remembered")
	}
}

func TestJobsAreBounded(t *testing.T) {
	var js Jobs
	for i := range int32(maxJobs + 10) {
		js.Learn(app(i+1), "alice", am, []Split{split(0, "a")}, nodeOf)
	}
	if js.Knows(app(maxJobs + 1)) {
		t.Error("too many jobs are remembered")
	}
	for i := range int32(maxJobs) {
		js.End(app(i + 1))
	}
	many := make([]Split, maxSplits+10)
	for i := range many {
		many[i] = split(i, "a")
	}
	if got := js.Learn(app(maxJobs+1), "alice", am, many, nodeOf); len(got) != 1 || len(got[0].Ranges) != maxSplits {
		t.Error("a job has too many splits")
	}
	for i := range int32(2 * maxAll / maxSplits) {
		js.Learn(app(i+1), "alice", am, many, nodeOf)
		js.Learn(app(1), "alice", am, many, nodeOf) // again, which counts once
	}
	if n := len(js.jobs); n != maxAll/maxSplits {
		t.Errorf("%d jobs of %d splits each are remembered", n, maxSplits)
	}
}

// Whatever the splits are: each range is read once, by a host that has it, in the order of its maps.
func TestRangesAreDividedWithoutRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 4)
		splits := make([]Split, rapid.IntRange(1, 40).Draw(t, "n"))
		for i := range splits {
			splits[i] = split(i, hosts.Draw(t, "hosts")...)
		}
		seen := map[string]int{}
		var js Jobs
		for _, s := range js.Learn(app(1), "alice", am, splits, nodeOf) {
			last, total := -1, 0
			for _, sp := range splits {
				if slices.Contains(sp.Hosts, s.Node.Host) {
					total++
				}
			}
			if s.Total != total || s.Order.Waiting != total {
				t.Fatalf("%s has %d of %d, not %d", s.Node.Host, s.Order.Waiting, s.Total, total)
			}
			for _, r := range s.Ranges {
				if seen[r.File]++; r.Position <= last || r.Position >= total {
					t.Fatalf("%s: %+v after %d of %d", s.Node.Host, r, last, total)
				}
				last = r.Position
				if !slices.Contains(splits[r.Offset].Hosts, s.Node.Host) {
					t.Fatalf("%s doesn't have %+v", s.Node.Host, r)
				}
			}
		}
		for i := range splits {
			if seen[fmt.Sprint(i)] != 1 {
				t.Fatalf("range %d is read %d times", i, seen[fmt.Sprint(i)])
			}
		}
	})
}

// The node of the ApplicationMaster hears once when no map waits any more, anywhere.
func TestTheMastersNodeHearsWhenAllMapsHaveStarted(t *testing.T) {
	var js Jobs
	if _, tell := js.Waiting(app(1), "*", 0); tell {
		t.Error("of a job that nobody knows")
	}
	js.Learn(app(1), "alice", am, []Split{split(0, "a"), split(1, "b")}, nodeOf)
	for i, x := range []struct {
		n    int
		tell bool
	}{{0, false}, {2, false}, {1, false}, {0, true}, {0, false}, {1, false}, {0, true}} {
		if i == 2 {
			js.Learn(app(1), "alice", am, []Split{split(0, "a"), split(1, "b")}, nodeOf) // a later leader's, or another attempt
		}
		o, tell := js.Waiting(app(1), "*", x.n)
		if tell != x.tell || tell && (o.Node != am || o.Total != 0 || o.Order.Waiting != 0) {
			t.Errorf("%d: with %d asked for: %+v, %t", i, x.n, o, tell)
		}
	}
}

// What a node has read ahead and what the NameNode has cached there count together, for as many maps as have their input on the host.
func TestInputInMemory(t *testing.T) {
	var js Jobs
	js.Learn(app(1), "alice", am, []Split{split(0, "a", "b"), split(1, "a"), {Hosts: []string{"a"}}}, nodeOf)
	for i, x := range []struct {
		host   string
		cached bool
		maps   int
		want   int
	}{{"a", false, 1, 1}, {"a", true, 1, 2}, {"a", true, 9, 3}, {"b", true, 1 << 40, 1}, {"a", false, 0, 3}, {"a", true, -1, 0}} {
		if node, n, found := js.InMemory(app(1), x.host, x.cached, x.maps); !found || n != x.want || node.Host != x.host {
			t.Errorf("%d: %d maps, on %v", i, n, node)
		}
	}
	for id, host := range map[records.ApplicationID]string{app(1): "am", app(2): "a"} {
		if _, _, found := js.InMemory(id, host, true, 1); found {
			t.Errorf("%v has input on %s", id, host)
		}
	}
}
