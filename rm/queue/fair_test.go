package queue

import (
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
	back, _ := tree.Find("back")
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
	for _, c := range []struct {
		name, user, path string
		leaf             bool
	}{
		{"prod.web.front", "u", "root.prod.web.front", true},
		{"front", "u", "root.prod.web.front", true},
		{"root.prod", "u", "root.prod", false},
		{"root.empty", "u", "root.empty", false},
		{"default", "a.b", "root.a_dot_b", true},
		{"nowhere", "u", "root.nowhere", true},
		{"root.prod.new", "u", "root.prod.new", true},
		{"root.prod.batch.below", "u", "root.prod.batch.below", false},
		{"a..b", "u", "root.a..b", false},
	} {
		if path, leaf := tree.Resolve(c.name, c.user); path != c.path || leaf != c.leaf {
			t.Errorf("%s of %s: %s, %v", c.name, c.user, path, leaf)
		}
	}
	tree.UserQueues, tree.Undeclared = false, false
	for _, name := range []string{"", "default", "nowhere"} {
		if path, leaf := tree.Resolve(name, "u"); path != "root.default" || !leaf {
			t.Errorf("%q: %s, %v", name, path, leaf)
		}
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

// FuzzParseFair reads arbitrary files: in a tree that comes of one every queue is found by its path, and resolving never fails.
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
		path, leaf := tree.Resolve(name, "user")
		if q, ok := tree.Find(path); leaf && ok && !q.Leaf() {
			t.Errorf("%q is %s, which holds queues", name, path)
		}
		tree.Above(path)
	})
}
