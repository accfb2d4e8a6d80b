package division

import (
	"testing"
	"time"

	"heddle/rm/scheduler/policy/partition"
	"heddle/yarn/pb"
)

func TestWhatIsLong(t *testing.T) {
	times := map[string]time.Duration{"root.batch": 10 * time.Minute, "root.batch.quick": 5 * time.Second}
	s := Settings{Settings: partition.Eagle(time.Minute, 0), TaskTimes: times}
	for _, c := range []struct {
		submitted, tag, queue string
		long, bad             bool
	}{
		{"60s", "heddle-task-time:2m", "root.batch", false, false},
		{"2m", "heddle-task-time:1s", "root.batch.quick", true, false},
		{"soon", "", "root.batch.quick", false, true},
		{"-5s", "heddle-task-time:1s", "root.unknown", true, true},
		{"", "heddle-task-time:60s", "root.batch", false, false},
		{"", "heddle-task-time:61s", "root.batch.quick", true, false},
		{"", "", "root.batch", true, false},
		{"", "", "root.batch.other", true, false},
		{"", "", "root.batch.quick", false, false},
		{"", "nightly", "root.batch.quick.x", false, false},
		{"", "", "root.unknown", true, false},
		{"", "heddle-task-time:soon", "root.batch.quick", false, true},
		{"", "heddle-task-time:soon", "root.unknown", true, true},
	} {
		of := &pb.ApplicationSubmissionContext{}
		of.SetApplicationTags([]string{c.tag})
		if c.submitted != "" {
			other, time := &pb.StringStringMap{}, &pb.StringStringMap{}
			other.SetKey("other")
			other.SetValue("1ms")
			time.SetKey(partition.Property)
			time.SetValue(c.submitted)
			of.SetApplicationSchedulingProperties([]*pb.StringStringMap{time, other})
		}
		long, err := s.Long(of, c.queue)
		if long != c.long || (err != nil) != c.bad {
			t.Errorf("%+v: long %v, %v", c, long, err)
		}
	}
	if long, err := (&Settings{}).Long(nil, "root.batch"); long || err != nil {
		t.Errorf("without a cutoff: long %v, %v", long, err)
	}
}
