package queue

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"heddle/rm/queue/template"
)

// createdBase has a queue for each way of creation, with shares of a partition.
func createdBase(t *rapid.T) *Tree {
	percent := rapid.IntRange(0, 100).Draw(t, "template")
	tree, err := ParseCapacity(map[string]string{
		"root.queues": "flex,man", "root.accessible-node-labels.x.capacity": "100",
		"root.flex.capacity": "1w", "root.flex.auto-queue-creation-v2.enabled": "true", "root.flex.auto-queue-creation-v2.template.capacity": "3w",
		"root.flex.accessible-node-labels": "x", "root.flex.accessible-node-labels.x.capacity": "1w",
		"root.man.capacity": "2w", "root.man.accessible-node-labels": "x", "root.man.accessible-node-labels.x.capacity": "1w",
		"root.man.auto-create-child-queue.enabled": "true", "root.man.leaf-queue-template.capacity": fmt.Sprint(percent),
		"root.man.leaf-queue-template.accessible-node-labels.x.capacity": fmt.Sprint(100 - percent),
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// However queues came and went, the tree is the one that a restart makes of those that exist; and legacy leaves have no more than the queue above them.
func TestTreesOfCreatedQueuesDependOnTheQueuesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := createdBase(t)
		tree := base
		name := rapid.SampledFrom([]string{"root.flex.a", "root.flex.b", "root.flex.p.a", "root.flex.p.c", "root.man.a", "root.man.b", "root.man.c", "root.man.d"})
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			var err error
			next := tree
			switch rapid.SampledFrom([]string{"create", "create", "delete", "entitle"}).Draw(t, "step") {
			case "create":
				path := name.Draw(t, "path")
				if _, there := tree.Find(path); there {
					continue
				}
				made, refused := tree.creatable(path)
				if refused != nil {
					continue
				}
				next, err = tree.Adding(made)
			case "delete":
				path := name.Draw(t, "path")
				if _, there := tree.Find(path); !there {
					continue
				}
				next, err = tree.Without([]string{path})
			case "entitle":
				used := rapid.SliceOfDistinct(name, rapid.ID[string]).Draw(t, "used")
				next, err = tree.Entitling(template.Entitled(tree.Created, used, tree.Rooms))
			}
			if err != nil {
				t.Fatal(err)
			}
			tree = next
			sameAsRestored(t, base, tree)
			withinParents(t, tree)
		}
	})
}

func sameAsRestored(t *rapid.T, base, tree *Tree) {
	restored, gone, err := base.Restored(tree.Created)
	if err != nil || len(gone) > 0 {
		t.Fatalf("%v are gone: %v", gone, err)
	}
	for _, label := range []string{"", "x"} {
		got, want := tree.In(label), restored.In(label)
		for i, q := range want.Queues() {
			if have := got.Queues()[i]; !reflect.DeepEqual(flat(have), flat(q)) {
				t.Fatalf("label %q: %+v\nwhen restored: %+v", label, flat(have), flat(q))
			}
		}
	}
}

// flat returns a queue without others.
func flat(q *Queue) Queue {
	out := *q
	out.Parent, out.Children, out.left = nil, nil, leavings{} // which another leader doesn't show
	if len(out.Zero) == 0 {
		out.Zero = nil
	}
	return out
}

func withinParents(t *rapid.T, tree *Tree) {
	for _, label := range []string{"", "x"} {
		man, _ := tree.In(label).Find("root.man")
		var sum float32
		for _, c := range man.Children {
			if sum += c.AbsoluteCapacity; slices.Contains(c.Zero, label) && c.AbsoluteCapacity != 0 {
				t.Fatalf("label %q: %s has %g and should have nothing", label, c.Path, c.AbsoluteCapacity)
			}
		}
		if sum > man.AbsoluteCapacity+2*spare {
			t.Fatalf("label %q: legacy leaves have %g, and the queue above them %g", label, sum, man.AbsoluteCapacity)
		}
	}
}
