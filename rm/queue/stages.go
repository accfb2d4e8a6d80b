package queue

import "heddle/rm/queue/leafpolicy"

// inheritStagePolicy gives a queue what the queue above it has, or else the scheduler.
func inheritStagePolicy(q *Queue, otherwise string) {
	if q.StagePolicy = otherwise; q.Parent != nil {
		q.StagePolicy = q.Parent.StagePolicy
	}
}

// LeafPolicy returns the policy by which a leaf orders its applications: its stage policy, or else its ordering policy.
func (q *Queue) LeafPolicy() string {
	if leafpolicy.IsStage(q.StagePolicy) {
		return q.StagePolicy
	}
	return q.OrderingPolicy
}
