package queue

import (
	"testing"

	"heddle/rm/queue/template"
	"heddle/yarn/records"
)

// A legacy leaf that loses its capacity shows no maximum, and its limit on applications of before; one that gains it has the old limit, too. Both are computed
// when a queue is made the next time. As a stock 3.4.2 has it.
func TestLegacyLeavesShowWhatTheyHadUntilQueuesAreMade(t *testing.T) {
	tree := treeOf(t, "queues=dyn,fix", "fix.capacity=50", "dyn.capacity=50", "dyn.auto-create-child-queue.enabled=true",
		"dyn.leaf-queue-template.capacity=40", "dyn.leaf-queue-template.maximum-capacity=80")
	leaf := func(name string, zero ...string) template.Created {
		return template.Created{Path: "root.dyn." + name, Legacy: true, Zero: zero}
	}
	change := func(with func() (*Tree, error)) {
		t.Helper()
		next, err := with()
		if err != nil {
			t.Fatal(err)
		}
		tree = next
	}
	expect := func(when, name string, applications int32, maximum float32) {
		t.Helper()
		q, _ := tree.Find("root.dyn." + name)
		s := q.Shown("", tree.Effective(records.NewResource(32768, 32))[q.Index])
		if s.MaxApplications != applications || s.AbsoluteMaximum != maximum || s.Max.IsZero() != (maximum == 0) {
			t.Errorf("%s: %s shows %+v", when, name, s)
		}
	}
	change(func() (*Tree, error) {
		return tree.Adding([]template.Created{leaf("alice"), leaf("bob"), leaf("carol", "")})
	})
	expect("made", "alice", 2000, 0.8)
	expect("made", "carol", 0, 0.8)
	change(func() (*Tree, error) {
		return tree.Entitling([]template.Created{leaf("alice", ""), leaf("bob"), leaf("carol")})
	})
	expect("entitled", "alice", 2000, 0)
	expect("entitled", "bob", 2000, 0.8)
	expect("entitled", "carol", 0, 0.8)
	change(func() (*Tree, error) { return tree.Adding([]template.Created{leaf("dave", "")}) })
	expect("another is made", "alice", 0, 0.8)
	expect("another is made", "carol", 2000, 0.8)
}

// Three quarters of x in amounts, half of the nodes without a label: 7500 of 10000 applications, as a stock 3.4.2 has it.
func TestApplicationsByTheLargestAmountOfAPartition(t *testing.T) {
	tree := treeOf(t, "queues=a,b", "a.capacity=[memory=16384,vcores=16]", "b.capacity=[memory=16384,vcores=16]", "accessible-node-labels.x.capacity=[memory=16384,vcores=16]",
		"a.accessible-node-labels.x.capacity=[memory=4096,vcores=4]", "b.accessible-node-labels.x.capacity=[memory=12288,vcores=12]")
	shares := tree.Effective(records.NewResource(32768, 32))
	CountLabels(tree, shares, map[string]records.Resource{"x": records.NewResource(16384, 16)})
	if shares[1].MaxApplications != 5000 || shares[2].MaxApplications != 7500 {
		t.Errorf("%d and %d applications", shares[1].MaxApplications, shares[2].MaxApplications)
	}
	if got := tree.In("x").Root.ConfiguredMin(); got != records.NewResource(16384, 16) {
		t.Errorf("root shows %v in x", got)
	}
}

// Vectors of single resources have shares by the sizes of partitions alone. As a stock 3.4.2 shows them.
func TestApplicationsByTheLargestVectorOfAPartition(t *testing.T) {
	tree := treeOf(t, "/legacy-queue-mode.enabled=false", "queues=a,b,c", "a.capacity=[memory=50%,vcores=8]", "b.capacity=[memory=1w,vcores=1w]", "c.capacity=[memory=1w,vcores=1w]",
		"a.accessible-node-labels.x.capacity=[memory=4096,vcores=50%]", "b.accessible-node-labels.x.capacity=[memory=1w,vcores=1w]", "c.accessible-node-labels.x.capacity=[memory=3w,vcores=3w]",
		"/resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	shares := tree.Effective(records.NewResource(32768, 32))
	CountLabels(tree, shares, map[string]records.Resource{"x": records.NewResource(16384, 16)})
	for i, want := range []int32{5000, 3750, 5625} {
		if got := shares[i+1].MaxApplications; got != want {
			t.Errorf("queue %d has %d applications, not %d", i, got, want)
		}
	}
}

// Hadoop trims the name of a queue that it makes, and the path if it begins or ends with blanks.
func TestNamesOfCreatedQueuesAreTrimmed(t *testing.T) {
	tree := treeOf(t, "queues=fix,dyn", "fix.capacity=1w", "dyn.capacity=1w", "dyn.auto-queue-creation-v2.enabled=true")
	for name, want := range map[string]string{
		" root.dyn.z": "root.dyn.z", "root.dyn.w ": "root.dyn.w", "root.dyn. v": "root.dyn.v", "root.dyn.\tt": "root.dyn.t", " dyn.k": "root.dyn.k", "root.dyn.a b": "root.dyn.a b",
		"root. dyn.q": "", " fix ": "",
	} {
		with, path, made, err := tree.For(App{ID: "application_1_0001", User: "alice"}, name, false)
		if want == "" {
			if err == nil || len(made) > 0 {
				t.Errorf("%q: %q is made", name, path)
			}
			continue
		}
		if err != nil || path != want || len(made) != 1 {
			t.Errorf("%q: %q, made %v, %v", name, path, made, err)
			continue
		}
		if _, path, made, err := with.For(App{ID: "application_1_0002", User: "alice"}, name, false); err != nil || path != want || len(made) != 0 {
			t.Errorf("%q once it is there: %q, made %v, %v", name, path, made, err)
		}
	}
}
