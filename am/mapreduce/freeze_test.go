package mapreduce

import (
	"testing"

	"heddle/am/mapreduce/job"
	"heddle/am/stage"
	"heddle/yarn/records"
)

// A task that has time gives the copy of a slow one its room, and goes on when that is done.
func TestATaskGivesACopyItsRoom(t *testing.T) {
	p := newPlayOf(job.Job{Speculation: job.SpeculateLate, Freeze: true}, 3, 3)
	p.cluster.nodes = 3
	slow, a, b := p.grant("slow"), p.grant("a"), p.grant("b")
	c := p.c
	c.mu.Lock()
	c.act([]stage.Action{
		stage.Want{Request: 9, Task: stage.TaskID{Stage: stage.Map}, Hosts: []string{"a", "b"}, Strict: true},
		stage.Freeze{Slot: 2, For: 9},
		stage.Freeze{Slot: 1},
		stage.Freeze{Slot: 0, For: 8},
	})
	c.mu.Unlock()
	still := func(w string) (int64, bool) {
		to, ok := p.cluster.swaps[c.workers[w].ID]
		return int64(to), ok
	}
	if to, ok := still(b); !ok || to == 0 || p.cluster.asks[p.cluster.next].RelaxLocality {
		t.Errorf("%v, %v: it isn't to stand still for the copy", to, ok)
	}
	if to, ok := still(a); !ok || to != 0 {
		t.Errorf("%v, %v: it isn't to stand still for whoever is next", to, ok)
	}
	if _, ok := still(slow); ok {
		t.Error("one is to stand still for a request whose container has come")
	}
	c.mu.Lock()
	c.act([]stage.Action{stage.Thaw{Slot: 2}})
	c.mu.Unlock()
	if _, ok := still(b); ok {
		t.Error("it isn't to go on")
	}
	unfrozen(c, c.workers[a].ID, "why")
	unfrozen(c, records.ContainerID{}, "why")
}
