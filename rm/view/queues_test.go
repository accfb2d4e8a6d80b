package view

import (
	"slices"
	"strings"
	"testing"

	"heddle/rm/ledger"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Two GB and three vcores of eight each, in a queue that is guaranteed half of the cluster.
func TestUsageIsMeasuredAsTheQueuesAre(t *testing.T) {
	whole := records.NewResource(8192, 8)
	a := App{Queue: "root.a", Used: records.NewResource(2048, 3), Cluster: whole, Partition: whole}
	for calculator, want := range map[string][2]float32{
		"org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator":  {50, 25},
		"org.apache.hadoop.yarn.util.resource.DominantResourceCalculator": {75, 37.5},
	} {
		tree, err := queue.ParseCapacity(map[string]string{
			"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50",
			"resource-calculator": calculator,
		})
		if err != nil {
			t.Fatal(err)
		}
		ofQueue, ofCluster := a.Usage(tree)
		if got := [2]float32{ofQueue, ofCluster}; got != want {
			t.Errorf("%s: %v, want %v", calculator, got, want)
		}
	}
	if ofQueue, ofCluster := (&App{Queue: "root.gone"}).Usage(&queue.Tree{}); ofQueue != 0 || ofCluster != 0 {
		t.Errorf("nothing of nothing: %v %v", ofQueue, ofCluster)
	}
}

// A fair queue's part is that of its fair share, of memory alone; one that is due nothing, or not known of, has none.
func TestUsageOfFairQueues(t *testing.T) {
	for _, c := range []struct {
		share records.Resource
		want  float32
	}{
		{records.NewResource(4096, 1), 50}, {records.NewResource(1024, 0), 200}, {records.NewResource(0, 4), 0}, {records.Resource{}, 0},
	} {
		a := App{Queue: "root.made.up", Used: records.NewResource(2048, 3), Cluster: records.NewResource(8192, 8), QueueShare: c.share}
		if ofQueue, ofCluster := a.Usage(queue.Default(queue.Fair)); ofQueue != c.want || ofCluster != 25 {
			t.Errorf("of %v: %v and %v, want %v", c.share, ofQueue, ofCluster, c.want)
		}
	}
}

// As a stock FairScheduler answers: names are paths, and a queue's applications are also those below it.
func TestApplicationsOfQueues(t *testing.T) {
	fair, err := queue.ParseFair([]byte(`<allocations><queue name="a"/><queue name="p"><queue name="d"/></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	capacity, err := queue.ParseCapacity(map[string]string{
		"root.queues": "a,p", "root.a.capacity": "50", "root.p.capacity": "50", "root.p.queues": "d", "root.p.d.capacity": "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	live := []string{"root.a", "root.p.d", "root.x.y"}
	for name, want := range map[string][2]string{ // of fair queues, of capacity queues
		"a": {"root.a", "root.a"}, "root.a": {"root.a", "root.a"}, "p": {"root.p.d", "root.p.d"}, "root.p": {"root.p.d", "root.p.d"},
		"d": {"", "root.p.d"}, "p.d": {"root.p.d", ""}, "root": {"root.a root.p.d root.x.y", "root.a root.p.d root.x.y"},
		"y": {"", ""}, "x": {"root.x.y", ""}, "nowhere": {"", ""},
	} {
		for i, tree := range []*queue.Tree{fair, capacity} {
			f := Filter{Queues: []string{tree.Path(name)}}
			got := slices.DeleteFunc(slices.Clone(live), func(q string) bool { return !f.admits(&ledger.Application{Queue: q}) })
			if strings.Join(got, " ") != want[i] {
				t.Errorf("%s: %v, want %s", name, got, want[i])
			}
			// what has ended is in no queue any more, and has the path of its own
			got = slices.DeleteFunc(slices.Clone(live), func(q string) bool {
				return !f.admits(&ledger.Application{Queue: q, State: ledger.AppFinished})
			})
			if own := tree.Path(name); len(got) > 1 || len(got) == 1 && got[0] != own {
				t.Errorf("%s: ended ones of %v, want those of %s alone", name, got, own)
			}
		}
	}
}

// An empty name is a name: other applications don't have it.
func TestFilterByAnEmptyName(t *testing.T) {
	named, nameless := &pb.ApplicationSubmissionContext{}, &pb.ApplicationSubmissionContext{}
	named.SetApplicationName("n")
	nameless.SetApplicationName("")
	empty := ""
	for _, f := range []struct {
		filter          Filter
		named, nameless bool
	}{{Filter{}, true, true}, {Filter{Name: &empty}, false, true}} {
		if got := f.filter.admits(&ledger.Application{Context: named}); got != f.named {
			t.Errorf("%+v admits n: %v", f.filter, got)
		}
		if got := f.filter.admits(&ledger.Application{Context: nameless}); got != f.nameless {
			t.Errorf("%+v admits the nameless: %v", f.filter, got)
		}
	}
}

// Queues were said to have available what the whole cluster had free, in /jmx and to yarn top, which adds them up.
func TestAQueueHasTheRestOfItsGuaranteeAvailable(t *testing.T) {
	cluster, below := records.NewResource(8192, 12), &queue.Queue{Parent: &queue.Queue{}}
	for _, c := range []struct {
		dominant        bool
		guarantee, used records.Resource
		want            records.Resource
		name            string
	}{
		{true, records.NewResource(3276, 4), records.NewResource(1024, 2), records.NewResource(2252, 2), "below"},
		{true, records.NewResource(3276, 4), records.NewResource(512, 6), records.Resource{}, "above by vcores"},
		{false, records.NewResource(3276, 4), records.NewResource(512, 6), records.NewResource(2764, 0), "vcores don't count"},
		{false, records.NewResource(3276, 4), records.NewResource(3276, 1), records.Resource{}, "all of it"},
	} {
		u := QueueUse{Share: queue.Share{Min: c.guarantee}, Amount: Amount{Used: c.used}}
		if got := u.Available(&queue.Tree{Kind: queue.Capacity, Dominant: c.dominant}, below, cluster); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Active are applications that ask for something, not all that live; parents count those of their leaves, but no users.
func TestActiveApplicationsOfQueues(t *testing.T) {
	tree, err := queue.ParseCapacity(map[string]string{"root.queues": "a,b", "root.a.capacity": "50", "root.b.capacity": "50"})
	if err != nil {
		t.Fatal(err)
	}
	use := func(wanting ...int) *QueueUse {
		u := &QueueUse{Apps: make([]*App, 9)}
		for _, n := range wanting {
			u.State.Users = append(u.State.Users, scheduler.UserView{Wanting: n})
		}
		return u
	}
	uses := map[string]*QueueUse{"root": use(), "root.a": use(2, 0, 1), "root.b": use(0, 4)}
	for path, want := range map[string]Active{"root": {7, 0}, "root.a": {3, 2}, "root.b": {4, 1}} {
		if q, _ := tree.Find(path); ActiveIn(q, uses) != want {
			t.Errorf("%s: %+v, want %+v", path, ActiveIn(q, uses), want)
		}
	}
}
