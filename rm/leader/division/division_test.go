package division

import (
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
)

func TestWhatIsLong(t *testing.T) {
	times := map[string]time.Duration{"root.batch": 10 * time.Minute, "root.batch.quick": 5 * time.Second}
	s := Settings{Settings: partition.Eagle(time.Minute, 0), TaskTimes: times}
	for _, c := range []struct {
		tag, queue string
		long, bad  bool
	}{
		{"heddle-task-time:60s", "root.batch", false, false},
		{"heddle-task-time:61s", "root.batch.quick", true, false},
		{"", "root.batch", true, false},
		{"", "root.batch.other", true, false},
		{"", "root.batch.quick", false, false},
		{"nightly", "root.batch.quick.x", false, false},
		{"", "root.unknown", true, false},
		{"heddle-task-time:soon", "root.batch.quick", false, true},
		{"heddle-task-time:soon", "root.unknown", true, true},
	} {
		long, err := s.Long([]string{c.tag}, c.queue)
		if long != c.long || (err != nil) != c.bad {
			t.Errorf("%+v: long %v, %v", c, long, err)
		}
	}
	if long, err := (&Settings{}).Long([]string{"heddle-task-time:soon"}, "root.batch"); long || err != nil {
		t.Errorf("without a cutoff: long %v, %v", long, err)
	}
}
