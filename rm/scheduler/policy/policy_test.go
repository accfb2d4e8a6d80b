package policy_test

import (
	"fmt"
	"testing"

	"heddle/rm/queue"
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/policy"
)

// Each kind of queues has a policy of its own.
func TestEachKindHasAPolicy(t *testing.T) {
	for kind, want := range map[queue.Kind]string{
		queue.Capacity: "*capacity.Policy", queue.Fair: "*fair.Policy", queue.FIFO: "*fifo.Policy",
	} {
		core.NewCore(core.Config{Tree: queue.Default(kind)}, func(c *core.Core, k queue.Kind) core.Policy {
			p := policy.New(k, c)
			if got := fmt.Sprintf("%T", p); k != kind || got != want {
				t.Errorf("kind %d: %s for kind %d, want %s", kind, got, k, want)
			}
			return p
		})
	}
}
