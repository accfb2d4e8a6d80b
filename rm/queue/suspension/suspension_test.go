package suspension

import (
	"testing"
	"time"

	"heddle/conf/conftest"
	"heddle/yarn/records"
)

// A configuration that sets nothing, and one that sets everything.
func TestSuspensionIsConfigured(t *testing.T) {
	if got, want := Of(conftest.With(t, nil)), Default(); got != want {
		t.Errorf("the keys' defaults are %+v, those of trees %+v", got, want)
	}
	got := Of(conftest.With(t, map[string]string{
		"heddle.scheduler.preemption": "suspend-immediate", "heddle.scheduler.preemption.unable": "kill",
		"heddle.scheduler.preemption.order": "least-attained", "heddle.scheduler.preemption.min-runtime-ms": "1500",
		"heddle.scheduler.preemption.unit.memory-mb": "1000", "heddle.scheduler.preemption.unit.vcores": "3",
		"heddle.scheduler.preemption.step": "5", "heddle.scheduler.preemption.resume-tries": "0",
		"heddle.scheduler.preemption.max-suspensions": "7", "heddle.scheduler.preemption.max-suspended-ms": "60000",
		"heddle.scheduler.preemption.on-demand": "false", "heddle.scheduler.preemption.level": "footprint",
	}))
	want := Settings{
		Means: Immediate, Unable: Kill, Ranking: ByLeastAttained, MinimumAge: 1500 * time.Millisecond,
		Step: records.NewResource(5000, 15), Tries: 0, Most: 7, Longest: time.Minute, Periodic: true, Footprint: true,
	}
	if got != want {
		t.Errorf("%+v", got)
	}
}
