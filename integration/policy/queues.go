package policy

import (
	"context"
	"fmt"
	"slices"

	"heddle/yarn/pb"
	"heddle/yarn/protocol"
)

// queues records what ApplicationClientProtocol reports of all queues, by path.
func (p *play) queues(ctx context.Context, act *Act) error {
	req := &pb.GetQueueInfoRequest{}
	req.SetQueueName("root")
	req.SetIncludeChildQueues(true)
	req.SetRecursive(true)
	resp, err := protocol.GetQueueInfo.Call(ctx, p.who, req)
	if err != nil {
		return err
	}
	if act.Queues, err = p.describe(resp.GetQueueInfo()); err != nil {
		return err
	}
	slices.Sort(act.Queues)
	return nil
}

// describe returns a line for a queue, and one for each queue below it.
func (p *play) describe(q *pb.QueueInfo) ([]string, error) {
	name := q.GetQueuePath()
	if name == "" { // the FairScheduler
		name = q.GetQueueName()
	}
	line := fmt.Sprintf("%s %s capacity=%.4f maximum=%.4f current=%.4f weight=%.4g parallel=%d", name, q.GetState(), q.GetCapacity(),
		q.GetMaximumCapacity(), q.GetCurrentCapacity(), q.GetWeight(), q.GetMaxParallelApps())
	for _, m := range q.GetQueueConfigurationsMap() {
		c := m.GetQueueConfigurations()
		line += fmt.Sprintf(" absolute=%.4f-%.4f masters=%.4f", c.GetAbsoluteCapacity(), c.GetAbsoluteMaxCapacity(), c.GetMaxAMPercentage())
		for _, r := range []struct {
			name string
			is   *pb.Resource
		}{
			{"min", c.GetEffectiveMinCapacity()},
			{"max", c.GetEffectiveMaxCapacity()},
			{"configured-min", c.GetConfiguredMinCapacity()},
			{"configured-max", c.GetConfiguredMaxCapacity()},
		} {
			amounts, err := p.types.From(r.is)
			if err != nil {
				return nil, fmt.Errorf("queue %s: %w", q.GetQueuePath(), err)
			}
			line += fmt.Sprintf(" %s=%s", r.name, plain(amounts))
		}
	}
	if q.GetSchedulerType() == "FairScheduler" {
		line += fmt.Sprintf(" min=%d,%d max=%d,%d reserved=%d,%d steady=%d,%d running=%d", q.GetMinResourceMemory(), q.GetMinResourceVCore(),
			q.GetMaxResourceMemory(), q.GetMaxResourceVCore(), q.GetReservedResourceMemory(), q.GetReservedResourceVCore(),
			q.GetSteadyFairShareMemory(), q.GetSteadyFairShareVCore(), q.GetMaxRunningApp())
	}
	lines := []string{line}
	for _, child := range q.GetChildQueues() {
		more, err := p.describe(child)
		if err != nil {
			return nil, err
		}
		lines = append(lines, more...)
	}
	return lines, nil
}
