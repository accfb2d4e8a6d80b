package recent

import (
	"testing"

	"pgregory.net/rapid"
)

// The count is that of the events of ten tenths of a second, however far apart the events are.
func TestRecentEventsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Count
		var all []int64
		now := rapid.Int64Range(-1<<41, 1<<41).Draw(t, "begin")
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				c.Add(now)
				all = append(all, now)
			},
			"wait": func(t *rapid.T) { now += rapid.Int64Range(1, 3000).Draw(t, "ms") },
			"": func(t *rapid.T) {
				want := int64(0)
				for _, at := range all {
					if now/slotTime-at/slotTime < recentTime {
						want++
					}
				}
				if got := c.Until(now); got != want {
					t.Fatalf("%d instead of %d at %d: %v", got, want, now, all)
				}
			},
		})
	})
}

// A clock may say anything, also of a log that somebody has changed.
func TestTimesBefore1970(t *testing.T) {
	var c Count
	c.Add(-500)
	if got := c.Until(-500); got != 1 {
		t.Errorf("%d", got)
	}
}
