package queue

import (
	"slices"

	"heddle/rm/queue/suspension"
)

// inheritMeans gives a queue what the queue above it has, or else the scheduler.
func inheritMeans(q *Queue, s *suspension.Settings) {
	q.Means, q.Unable = s.Means, s.Unable
	if q.Parent != nil {
		q.Means, q.Unable = q.Parent.Means, q.Parent.Unable
	}
}

// means reads how preemption takes from a queue.
func (p *parser) means(q *Queue) {
	inheritMeans(q, &p.suspension)
	p.meansIn(q, suspension.MeansKey, &q.Means)
	p.meansIn(q, suspension.UnableKey, &q.Unable)
}

// meansIn reads a setting of a queue, if it has it.
func (p *parser) meansIn(q *Queue, key string, to *suspension.Means) {
	name, v := p.own(q.Path, key, "")
	if v == "" {
		return
	}
	m, err := suspension.Parse(key, v)
	if err != nil {
		p.fail(name, v, err.Error())
		return
	}
	*to = m
}

// Suspends reports whether the settings of some queue have its containers suspended.
func (t *Tree) Suspends() bool {
	return t.Settings.Suspension.Means.Suspends() || slices.ContainsFunc(t.Queues(), func(q *Queue) bool { return q.Means.Suspends() })
}
