package queue

import (
	"fmt"
	"testing"

	"heddle/rm/queue/template"
)

// A queue that is created, or deleted, takes memory in few pieces, however many others there are: that is most of what it costs.
func TestCreationAllocatesLittle(t *testing.T) {
	for _, leaves := range []int{50, 500} {
		settings := map[string]string{"root.queues": "p"}
		var made []template.Created
		for i := range 20 {
			p := fmt.Sprintf("p%d", i)
			settings["root.queues"] += "," + p
			settings["root."+p+".capacity"] = "1w"
			settings["root."+p+".auto-queue-creation-v2.enabled"] = "true"
			for j := range leaves {
				made = append(made, template.Created{Path: fmt.Sprintf("root.p%d.l%dx%d", i, i, j)})
			}
		}
		settings["root.p.capacity"] = "1w"
		tree, err := ParseCapacity(settings)
		if err != nil {
			t.Fatal(err)
		}
		tree, err = tree.Adding(made)
		if err != nil {
			t.Fatal(err)
		}
		allocs := testing.AllocsPerRun(3, func() {
			next, err := tree.Adding([]template.Created{{Path: "root.p.more"}})
			if err != nil {
				t.Fatal(err)
			}
			if next, err = next.Without([]string{"root.p.more"}); err != nil || len(next.Queues()) != len(tree.Queues()) {
				t.Fatalf("%d queues, not %d: %v", len(next.Queues()), len(tree.Queues()), err)
			}
		})
		t.Logf("%d queues: %.0f", len(tree.Queues()), allocs)
		if allocs > 1000 {
			t.Errorf("creating and deleting a queue beside %d allocates %.0f times", len(tree.Queues()), allocs)
		}
	}
}
