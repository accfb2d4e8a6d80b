package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"heddle/yarn/records"
)

// tree of a configuration that must be right.
func treeOf(t *testing.T, list ...string) *Tree {
	t.Helper()
	tree, err := CapacityFromConf(load(t, with(list...)))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// labelled is two queues on nodes without a label, of which the first has two below it that share the partition x otherwise.
var labelled = []string{
	"queues=p,q", "p.capacity=70", "q.capacity=30", "p.queues=p1,p2", "p.p1.capacity=50", "p.p2.capacity=50",
	"p.accessible-node-labels=x", "q.accessible-node-labels=x", "p.accessible-node-labels.x.capacity=60", "q.accessible-node-labels.x.capacity=40",
	"p.p1.accessible-node-labels.x.capacity=25", "p.p2.accessible-node-labels.x.capacity=75", "q.accessible-node-labels.x.maximum-capacity=55",
}

// As recorded of a stock 3.4.2: minima are the partition's resources times the shares of all levels, rounded down.
func TestSharesOfPartitions(t *testing.T) {
	tree := treeOf(t, append(slices.Clone(labelled), "q.accessible-node-labels.x.maximum-am-resource-percent=0.2")...)
	for _, c := range []struct {
		label string
		want  string
	}{
		{"", "p 22937 22 | 32768 32, p.p1 11468 11 | 32768 32, p.p2 11468 11 | 32768 32, q 9830 9 | 32768 32"},
		{"x", "p 19660 19 | 32768 32, p.p1 4915 4 | 32768 32, p.p2 14745 14 | 32768 32, q 13107 12 | 18022 17"},
		{"y", "p 0 0 | 0 0, p.p1 0 0 | 0 0, p.p2 0 0 | 0 0, q 0 0 | 0 0"},
	} {
		of := tree.In(c.label)
		shares := of.Effective(records.NewResource(32768, 32))
		var got []string
		for _, q := range of.Queues()[1:] {
			s := shares[q.Index]
			got = append(got, fmt.Sprintf("%s %d %d | %d %d", strings.TrimPrefix(q.Path, "root."), s.Min[0], s.Min[1], s.Max[0], s.Max[1]))
		}
		if text := strings.Join(got, ", "); text != c.want || of.Label != c.label {
			t.Errorf("label %q: %s\nwant %s", of.Label, text, c.want)
		}
		if root := shares[0]; root.Min != records.NewResource(32768, 32) || root.AbsoluteCapacity != 1 {
			t.Errorf("label %q: root has %v", c.label, root)
		}
	}
	if am := [2]float32{tree.In("x").Queues()[4].MaxAMShare, tree.In("x").Queues()[1].MaxAMShare}; am != [2]float32{0.2, 0.1} {
		t.Errorf("masters may have %v of q and p in x", am)
	}
	if tree.In("x").In("") == nil || !slices.Equal(tree.Labels(), []string{"x"}) {
		t.Errorf("labels %q", tree.Labels())
	}
	weights := treeOf(t, "queues=a,b", "a.capacity=1w", "b.capacity=1w", "a.accessible-node-labels.x.capacity=3w", "b.accessible-node-labels.x.capacity=1w").In("x")
	if s := weights.Effective(records.NewResource(16384, 16)); s[1].Min != records.NewResource(12288, 12) || s[1].Capacity != 0 || weights.Queues()[1].Weight != 3 {
		t.Errorf("by weight: %+v", s[1])
	}
	amounts := treeOf(t, "queues=a,b", "a.capacity=[memory=10,vcores=1]", "b.capacity=[memory=10,vcores=1]", "a.accessible-node-labels.x.capacity=[memory=4096,vcores=4]").In("x")
	if s := amounts.Effective(records.NewResource(16384, 16)); s[1].Min != records.NewResource(4096, 4) || s[1].AbsoluteCapacity != 0.25 || !s[2].Min.IsZero() {
		t.Errorf("by amount: %+v %+v", s[1], s[2])
	}
}

// Which labels a queue may use and which one its asks have if they say none, inherited where a queue says nothing.
func TestLabelsOfQueues(t *testing.T) {
	tree := treeOf(t, append(slices.Clone(labelled), "p.default-node-label-expression=x", "p.p2.accessible-node-labels= ", "q.accessible-node-labels=x, y,x",
		"accessible-node-labels=x", "p.p1.accessible-node-labels=")...)
	var got []string
	for _, q := range tree.Queues() {
		got = append(got, fmt.Sprintf("%s %q %q", q.Path, q.Labels, q.DefaultLabel))
	}
	want := `root ["*"] "", root.p ["x"] "x", root.p.p1 ["x"] "x", root.p.p2 [] "", root.q ["x" "y"] ""`
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

// Half of the nodes without a label and three quarters of x: 7500 of 10000 applications, as a stock 3.4.2 has it.
func TestApplicationsByTheLargestShareOfAPartition(t *testing.T) {
	tree := treeOf(t, "queues=a,b", "a.capacity=50", "b.capacity=50", "a.accessible-node-labels.x.capacity=75", "b.accessible-node-labels.x.capacity=25")
	if n := tree.Queues()[1].MaxApplications; n != 7500 {
		t.Errorf("%d applications", n)
	}
	if s := tree.Effective(records.NewResource(1024, 1)); s[1].MaxApplications != 7500 || s[2].MaxApplications != 5000 {
		t.Errorf("%d and %d applications", s[1].MaxApplications, s[2].MaxApplications)
	}
}

// Refusals have the words of a stock 3.4.2.
func TestLabelsThatAreRefused(t *testing.T) {
	halves := []string{"queues=a,b", "a.capacity=50", "b.capacity=50"}
	for name, c := range map[string]struct {
		settings []string
		want     string
	}{
		"sum": {
			[]string{"a.accessible-node-labels.x.capacity=50", "b.accessible-node-labels.x.capacity=40"},
			"Illegal capacity sum of 0.9 for children of queue root for label=x. It should be either 0 or 1.0",
		},
		"no shares": {
			[]string{"accessible-node-labels.x.capacity=100"},
			"Illegal capacity sum of 0.0 for children of queue root for label=x. It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0",
		},
		"subset": {
			[]string{"a.queues=c", "a.c.capacity=100", "a.accessible-node-labels=y", "a.c.accessible-node-labels=x"},
			"Some labels of child queue is not a subset of parent queue, these labels=[x]",
		},
		"all of some": {
			[]string{"a.queues=c", "a.c.capacity=100", "a.accessible-node-labels=y", "a.c.accessible-node-labels=*"},
			`yarn.scheduler.capacity.root.a.c.accessible-node-labels = "*": queue root.a.c can't use all labels, as root.a above it can't`,
		},
		"default": {
			[]string{"a.accessible-node-labels=x", "a.default-node-label-expression=y"},
			"Invalid default label expression of  queue=root.a doesn't have permission to access all labels in default label expression." +
				" labelExpression of resource request=y. Queue labels=x",
		},
		"modes": {
			[]string{"a.accessible-node-labels.x.capacity=1w", "b.accessible-node-labels.x.capacity=1w"},
			"Parent queue 'root' have children queue used mixed of  weight mode, percentage and absolute mode, it is not allowed, please double check, " +
				"details:{Queue=root.a, label= uses percentage mode}. {Queue=root.a, label=x uses weight mode}. {Queue=root.b, label= uses percentage mode}. {Queue=root.b, label=x uses weight mode}. ",
		},
		"below 0": {
			[]string{"a.accessible-node-labels.x.capacity=-10", "b.accessible-node-labels.x.capacity=110"},
			"Illegal capacity of -10.0 for node-label=x in queue=root.a, valid capacity should in range of [0, 100].",
		},
		"maximum": {
			[]string{"a.accessible-node-labels.x.capacity=50", "a.accessible-node-labels.x.maximum-capacity=140", "b.accessible-node-labels.x.capacity=50"},
			"Illegal capacity of 140.0 for node-label=x in queue=root.a, valid capacity should in range of [0, 100].",
		},
		"a number": {[]string{"a.accessible-node-labels.x.capacity=many", "b.accessible-node-labels.x.capacity=100"}, `For input string: "many"`},
	} {
		_, err := CapacityFromConf(load(t, with(append(slices.Clone(halves), c.settings...)...)))
		var invalid *Invalid
		if !errors.As(err, &invalid) {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(invalid.Brief(), c.want) {
			t.Errorf("%s: %s\nwant %s", name, invalid.Brief(), c.want)
		}
	}
	below := append(slices.Clone(halves), "a.accessible-node-labels.x.capacity=40", "b.accessible-node-labels.x.capacity=60", "b.accessible-node-labels.x.maximum-capacity=50")
	if _, err := CapacityFromConf(load(t, with(below...))); err != nil {
		t.Errorf("a maximum below the capacity: %v", err)
	}
	if _, err := CapacityFromConf(load(t, with(append(below, "a.accessible-node-labels.x.maximum-am-resource-percent=-2")...))); err != nil {
		t.Errorf("a share for ApplicationMasters below 0: %v", err)
	}
}

func TestCreatedQueuesHaveWeightsBelowAmounts(t *testing.T) {
	tree := treeOf(t, "queues=fix,dyn", "fix.capacity=[memory=16384,vcores=16]", "dyn.capacity=[memory=16384,vcores=16]", "dyn.auto-queue-creation-v2.enabled=true")
	more, path, made, err := tree.For(App{ID: "application_1_0001", User: "alice"}, "root.dyn.team.one", false)
	if err != nil || path != "root.dyn.team.one" || len(made) != 2 {
		t.Fatalf("%v in %s, made %v", err, path, made)
	}
	if q, ok := more.Find(path); !ok || q.Weight != 1 {
		t.Fatalf("%s is %+v", path, q)
	}
	_, err = CapacityFromConf(load(t, with("queues=fix,dyn", "fix.capacity=[memory=16384]", "dyn.capacity=[memory=16384]", "dyn.queues=one", "dyn.one.capacity=1w")))
	if err == nil || !strings.Contains(err.Error(), "weight below root.dyn") {
		t.Fatalf("a queue of the configuration with a weight below an amount: %v", err)
	}
}
