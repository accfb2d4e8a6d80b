package queue

import (
	"slices"
	"strings"
	"testing"

	"heddle/yarn/records"
)

const fairProfile = `<?xml version="1.0"?>
<allocations>
  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
  <queueMaxAMShareDefault>1.0</queueMaxAMShareDefault>
  <queue name="default"><weight>1.0</weight></queue>
  <queue name="prod" type="parent">
    <minResources>1024 mb, 1 vcores</minResources>
    <weight>3.0</weight>
    <aclSubmitApps>alice staff</aclSubmitApps>
    <queue name="web" type="parent">
      <queue name="front"><maxRunningApps>20</maxRunningApps></queue>
      <pool name="back"><maxResources>50% memory, 25% cpu</maxResources></pool>
    </queue>
    <queue name="batch"><schedulingPolicy>fair</schedulingPolicy></queue>
  </queue>
  <queue name="empty" type="parent"/>
</allocations>`

func TestFairTree(t *testing.T) {
	tree, err := ParseFair([]byte(fairProfile))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	tree.Root.All(func(q *Queue) { paths = append(paths, q.Path+":"+q.Fair.Policy) })
	const want = "root:DRF root.default:DRF root.prod:DRF root.prod.web:DRF root.prod.web.front:DRF root.prod.web.back:DRF root.prod.batch:fair root.empty:DRF"
	if got := strings.Join(paths, " "); got != want {
		t.Errorf("got %s", got)
	}
	cluster := records.NewResource(8192, 8)
	back, _ := tree.Find("root.prod.web.back")
	if got := back.Fair.Max.Of(cluster, cluster); got != records.NewResource(4096, 2) {
		t.Errorf("root.prod.web.back has at most %v", got)
	}
	if same, ok := tree.Find("prod.web.back"); !ok || same != back {
		t.Error("prod.web.back isn't found without root")
	}
	prod, _ := tree.Find("prod")
	if got := prod.Fair.Min.Of(cluster, records.Resource{}); got != records.NewResource(1024, 1) || prod.Fair.Weight != 3 {
		t.Errorf("root.prod has at least %v, weight %v", got, prod.Fair.Weight)
	}
	if !tree.Allows(Submit, "root.prod.batch", "alice", nil) || tree.Allows(Submit, "root.default", "alice", nil) != true {
		t.Error("alice may not submit")
	}
	for name, path := range map[string]string{
		"prod.web.front": "root.prod.web.front", "root.prod": "root.prod", "default": "root.default", "": "root.default",
		"front": "root.front", "nowhere": "root.nowhere", "root.prod.new": "root.prod.new",
	} {
		q, ok := tree.Find(name)
		if there := tree.byPath[path]; ok != (there != nil) || q != there || tree.Path(name) != path {
			t.Errorf("%q is %v, and its path %s", name, q, tree.Path(name))
		}
	}
}

// A queue that isn't there has the lists of those that it would be made below.
func TestRightsOnFairQueues(t *testing.T) {
	tree, err := ParseFair([]byte(`<allocations><queue name="root"><aclSubmitApps>alice</aclSubmitApps><aclAdministerApps> </aclAdministerApps>
	  <queue name="a" type="parent"><aclAdministerApps>bob</aclAdministerApps></queue></queue></allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		user, queue string
		want        bool
	}{
		{"bob", "root.a.new.deeper", true}, {"bob", "a.new", true}, {"bob", "root.a", true}, {"bob", "root.new", false}, {"alice", "root.a.new", false},
	} {
		if got := tree.Allows(Administer, c.queue, c.user, nil); got != c.want {
			t.Errorf("%s administers %s: %v", c.user, c.queue, got)
		}
	}
	if !tree.Allows(Submit, "root.new", "alice", nil) || tree.Allows(Submit, "root.new", "bob", nil) {
		t.Error("the root's list doesn't hold for what would be made in it")
	}
}

func TestFairRefused(t *testing.T) {
	for what, text := range map[string]string{
		"minResources":     `<allocations><queue name="a"><minResources>much</minResources></queue></allocations>`,
		"schedulingPolicy": `<allocations><queue name="a"><schedulingPolicy>luck</schedulingPolicy></queue></allocations>`,
		"weight":           `<allocations><queue name="a"><weight>-1</weight></queue></allocations>`,
		`named "a.b"`:      `<allocations><queue name="a.b"/></allocations>`,
		`named "a"`:        `<allocations><queue name="a"/><queue name="a"/></allocations>`,
		"nested deeper":    `<allocations>` + strings.Repeat(`<queue name="a">`, 40) + strings.Repeat(`</queue>`, 40) + `</allocations>`,
		"<allocations>":    `<configuration/>`,
	} {
		if _, err := ParseFair([]byte(text)); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// FuzzParseFair reads arbitrary files: in a tree that comes of one every queue is found by its path, and applications go to leaves.
func FuzzParseFair(f *testing.F) {
	f.Add([]byte(fairProfile), "root.prod")
	f.Add([]byte(`<allocations><queue name="root"><queue name="x"><maxResources>vcores=1, memory-mb=2</maxResources></queue></queue></allocations>`), "x")
	f.Add([]byte(`<allocations>`), ".")
	f.Fuzz(func(t *testing.T, file []byte, name string) {
		tree, err := ParseFair(file)
		if err != nil {
			return
		}
		tree.Root.All(func(q *Queue) {
			if got, ok := tree.Find(q.Path); !ok || got != q {
				t.Errorf("%s is not found", q.Path)
			}
		})
		path, err := tree.Place(App{Queue: name, User: "user"}, nil)
		if q, ok := tree.Find(path); err == nil && ok && !q.Leaf() {
			t.Errorf("%q is %s, which holds queues", name, path)
		}
		tree.Above(path)
	})
}

func TestUndeclaredQueues(t *testing.T) {
	tree, err := ParseFair([]byte(`<allocations>
	  <queue name="a"><maxChildResources>2048 mb, 2 vcores</maxChildResources><queue name="b"/></queue>
	  <queue name="leaf"/>
	  <queueMaxAppsDefault>7</queueMaxAppsDefault>
	  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>
	</allocations>`))
	if err != nil {
		t.Fatal(err)
	}
	if same := tree.With([]string{"root.a.b", "nonsense"}); same != tree {
		t.Error("nothing is missing, and the tree is another one")
	}
	more := tree.With([]string{"root.x.y", "root.x.z", "root.a.new", "root.leaf.below", "root.x.y.below"})
	var paths []string
	for i, q := range more.Queues() {
		paths = append(paths, q.Path)
		if q.Index != i || q.Parent != nil && !slices.Contains(q.Parent.Children, q) {
			t.Errorf("%s is not where it says", q.Path)
		}
	}
	want := []string{"root", "root.a", "root.a.b", "root.a.new", "root.leaf", "root.x", "root.x.y", "root.x.z"}
	if slices.Sort(paths); !slices.Equal(paths, want) {
		t.Errorf("got %v, want %v", paths, want)
	}
	if n := len(tree.Queues()); n != 4 {
		t.Errorf("the tree that it comes from has %d queues now", n)
	}
	q, _ := more.Find("root.a.new")
	cluster := records.NewResource(10000, 10)
	if got := q.Fair.Max.Of(cluster, cluster); got != records.NewResource(2048, 2) || q.MaxParallelApps != 7 || q.Fair.Policy != "DRF" || !q.Leaf() {
		t.Errorf("root.a.new has %v, %d applications, policy %s", got, q.MaxParallelApps, q.Fair.Policy)
	}
	if x, _ := more.Find("root.x"); x.Leaf() {
		t.Error("root.x is a leaf")
	}
}
