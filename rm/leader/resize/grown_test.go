package resize

import (
	"fmt"
	"testing"
	"time"

	"heddle/yarn/records"
)

// A growth that is taken back counts from the last one of its container.
func TestGrowthsThatBeginAnew(t *testing.T) {
	var g grownList
	a, b := records.ContainerID{ID: 1}, records.ContainerID{ID: 2}
	at := time.Unix(100, 0)
	g.add(a, at)
	g.add(b, at)
	g.add(a, at.Add(time.Minute))
	if got := fmt.Sprint(g.due(at.Add(time.Second))); got != fmt.Sprint([]records.ContainerID{b}) {
		t.Errorf("due at first: %v", got)
	}
	if got := fmt.Sprint(g.due(at.Add(time.Hour))); got != fmt.Sprint([]records.ContainerID{a}) {
		t.Errorf("due in the end: %v", got)
	}
}
