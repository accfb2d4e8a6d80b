package scheduler

import (
	"heddle/rm/scheduler/core"
	"heddle/rm/scheduler/ranking"
	"heddle/yarn/records"
)

// Standing holds the suspended containers, and their number on each node, and in each queue with those below it.
type Standing struct {
	who    map[ContainerHandle]bool
	nodes  map[NodeHandle]int32
	queues map[queueIn]int32
}

// queueIn is a queue in a partition.
type queueIn struct {
	core  *core.Core
	queue int32
}

// Standing lists who is suspended: of the containers that hold less than they claim, those of which stands says so, and more.
func (v View) Standing(stands func(ContainerHandle) bool, more map[ContainerHandle]bool) Standing {
	st := Standing{who: map[ContainerHandle]bool{}, nodes: map[NodeHandle]int32{}, queues: map[queueIn]int32{}}
	for i := range v.parts {
		for h := range v.parts[i].core.Lowered() {
			if stands(h) {
				v.count(&st, h)
			}
		}
	}
	for h := range more {
		if !st.who[h] {
			v.count(&st, h)
		}
	}
	return st
}

func (v View) count(st *Standing, h ContainerHandle) {
	core := v.with(h)
	c := &core.Containers[h]
	st.who[h] = true
	st.nodes[c.Node]++
	for q := core.Apps[c.App].Leaf; q != ranking.Nothing; q = core.Queues[q].Parent {
		st.queues[queueIn{core, q}]++
	}
}

// Stuck reports whether a container lacks room for its claim where no other will make any: on its node, or in queues with a maximum, all
// others are suspended.
func (v View) Stuck(h ContainerHandle, st Standing) bool {
	claim := v.Claim(h)
	core, self := v.with(h), int32(1)
	if core.CanHold(h, claim) {
		return false
	}
	if st.who[h] {
		self = 0
	}
	c := &core.Containers[h]
	lacks := core.Calc.Measure(claim.Sub(v.Held(h))).Max(records.Resource{})
	n := &core.Nodes.At[c.Node]
	if free := core.Nodes.Free(n); !core.Calc.Fits(&lacks, &free) && n.Containers > st.nodes[c.Node]+self {
		return false
	}
	for i := core.Apps[c.App].Leaf; i != ranking.Nothing; i = core.Queues[i].Parent {
		q := &core.Queues[i]
		left := q.Maximum
		core.Calc.Sub(&left, &q.Used)
		if q.Bounded && !core.Calc.Fits(&lacks, &left) && q.Containers > st.queues[queueIn{core, i}]+self {
			return false
		}
	}
	return true
}
