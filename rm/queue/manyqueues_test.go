package queue

import (
	"fmt"
	"strings"
	"testing"
)

// A tree is read in a time that grows with its queues, and not with their square: what is allocated meanwhile shows it.
func TestTreesOfManyQueues(t *testing.T) {
	allocated := func(n int) float64 {
		settings := map[string]string{}
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf("q%d", i)
			settings["root."+names[i]+".capacity"] = "1w"
		}
		settings["root.queues"] = strings.Join(names, ",")
		return testing.AllocsPerRun(1, func() {
			if _, err := ParseCapacity(settings); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocated(100), allocated(400)
	if many > 6*few {
		t.Errorf("400 queues take %v allocations, and 100 take %v", many, few)
	}
}
