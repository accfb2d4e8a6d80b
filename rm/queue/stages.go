package queue

import "heddle/rm/queue/leafpolicy"

// inheritStagePolicy gives a queue what the queue above it has, or else the scheduler.
func inheritStagePolicy(q *Queue, otherwise string) {
	if q.StagePolicy = otherwise; q.Parent != nil {
		q.StagePolicy = q.Parent.StagePolicy
	}
}

// LeafPolicy is the policy by which a leaf orders its applications: its stage policy, or else its ordering policy.
func (q *Queue) LeafPolicy() string {
	if q.HasStagePolicy() {
		return q.StagePolicy
	}
	return q.OrderingPolicy
}

// HasStagePolicy reports whether a queue regards stages.
func (q *Queue) HasStagePolicy() bool {
	return q.StagePolicy != "" && q.StagePolicy != leafpolicy.NoStages
}
