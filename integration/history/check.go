package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"heddle/yarn/records"
)

// Checked counts what a check has examined.
type Checked struct {
	Acknowledged int // submissions
	Containers   int
}

// Check checks the recorded history. Call it when all work has ended.
func (w *World) Check() (Checked, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var c Checked
	var apps, containers error
	c.Acknowledged, apps = w.checkApps()
	c.Containers, containers = w.checkContainers()
	return c, errors.Join(apps, containers)
}

// checkApps checks that calls about applications are linearizable. Each application is a flag that its submission sets
// and a look-up reads.
func (w *World) checkApps() (acknowledged int, err error) {
	end := int64(w.now())
	var ops []porcupine.Operation
	for _, c := range w.calls {
		op := porcupine.Operation{ClientId: c.client, Input: c, Call: int64(c.begin), Output: c, Return: int64(c.end)}
		if c.unknown {
			op.Return = end // it may take effect at any time
		} else if c.submit {
			acknowledged++
		}
		ops = append(ops, op)
	}
	if acknowledged == 0 {
		return 0, errors.New("no submission was acknowledged, so this proves nothing")
	}
	model := porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byApp := map[records.ApplicationID][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(call).app
				byApp[id] = append(byApp[id], op)
			}
			return slices.Collect(maps.Values(byApp))
		},
		Init: func() any { return false },
		Step: func(state, input, _ any) (bool, any) {
			c := input.(call)
			if c.submit {
				return true, true
			}
			return c.found == state.(bool), state
		},
	}
	if porcupine.CheckOperations(model, ops) {
		return acknowledged, nil
	}
	var missed strings.Builder
	for _, c := range w.calls {
		if !c.submit && !c.found {
			fmt.Fprintf(&missed, "\nnot found: %v by client %d at %v–%v", c.app, c.client, c.begin, c.end)
		}
	}
	return acknowledged, fmt.Errorf("an acknowledged application was lost, or seen and not seen again: the history is not linearizable%s", missed.String())
}

// checkContainers checks that no container id was granted twice, and that the grants and returns on a node, each within
// its call, have an order in which the node never holds more than it can.
func (w *World) checkContainers() (int, error) {
	var errs []error
	seen := map[records.ContainerID]bool{}
	var ops []porcupine.Operation
	end := int64(w.now())
	for i, t := range w.tenures {
		if seen[t.id] {
			errs = append(errs, fmt.Errorf("%v was given out twice", t.id))
		}
		seen[t.id] = true
		ops = append(ops, porcupine.Operation{
			ClientId: 2 * i, Input: step{t.node, +1}, Call: int64(t.asked), Return: int64(t.got),
		})
		if t.released > 0 {
			to := int64(t.settled)
			if t.settled == 0 {
				to = end
			}
			from := max(t.released, t.got)
			if t.lost {
				from = t.asked
			}
			ops = append(ops, porcupine.Operation{ClientId: 2*i + 1, Input: step{t.node, -1}, Call: int64(from), Return: to})
		}
	}
	if len(seen) == 0 {
		return 0, errors.New("no container was granted, so this proves nothing")
	}
	switch porcupine.CheckOperationsTimeout(capacityModel(w.capacity), ops, w.o.Patience) {
	case porcupine.Illegal:
		errs = append(errs, errors.New("there is no order of grants and returns in which no node holds more than it can"))
	case porcupine.Unknown:
		errs = append(errs, fmt.Errorf("no order of grants and returns was found in %v", w.o.Patience))
	}
	return len(seen), errors.Join(errs...)
}

// capacity returns how many containers a node holds. Unknown nodes hold none.
func (w *World) capacity(id records.NodeID) int {
	if w.nodes[id] == nil && w.o.Held != nil {
		return w.o.Held(id)
	}
	return w.o.Capacity
}

// step is a grant or a return on a node.
type step struct {
	node  records.NodeID
	delta int
}

// capacityModel models a node that counts its containers and never grants one too many.
func capacityModel(capacity func(records.NodeID) int) porcupine.Model {
	type held struct {
		node  records.NodeID
		count int
	}
	return porcupine.Model{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			byNode := map[records.NodeID][]porcupine.Operation{}
			for _, op := range history {
				id := op.Input.(step).node
				byNode[id] = append(byNode[id], op)
			}
			return slices.Collect(maps.Values(byNode))
		},
		Init: func() any { return held{} },
		Step: func(state, input, _ any) (bool, any) {
			in := input.(step)
			h := held{in.node, state.(held).count + in.delta}
			return h.count <= capacity(in.node), h
		},
	}
}
