package play

import (
	"errors"
	"fmt"
	"slices"

	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/sim"
	"heddle/sim/whatif/load"
)

// labelAdded gives applications that are added, and name no label, the default one of their queue, and refuses those whose queue may not use theirs, or
// whose label no node of the record ever had, as a ResourceManager would.
func labelAdded(p *player, tree *queue.Tree) error {
	if tree == nil || tree.Kind != queue.Capacity {
		return nil
	}
	known := map[string]bool{"": true}
	for i := range p.load.Events {
		switch e := &p.load.Events[i]; e.Op {
		case eventlog.AddNode:
			known[e.Spec.Label] = true
		case eventlog.SetLabel:
			known[e.Label] = true
		}
	}
	p.opt.Add = slices.Clone(p.opt.Add)
	var errs []error
	for i := range p.opt.Add {
		a := &p.opt.Add[i]
		label, err := sim.LabelIn(tree, a.Queue, a.Label)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("job %s: %w", a.Name, err))
		case !known[label]:
			errs = append(errs, fmt.Errorf("job %s: no node of the record had the label %s", a.Name, label))
		case a.Label == "" && label != "":
			setLabel(a, label)
		}
	}
	return errors.Join(errs...)
}

// setLabel has an application, and those of its requests that name no label, ask for nodes with one. What it shares with others stays.
func setLabel(a *load.App, to string) {
	a.Label = to
	a.Attempts = slices.Clone(a.Attempts)
	for i := range a.Attempts {
		asks := slices.Clone(a.Attempts[i].Asks)
		for k := range asks {
			asks[k].Rows = slices.Clone(asks[k].Rows)
			for j := range asks[k].Rows {
				if row := &asks[k].Rows[j]; row.Name == scheduler.Any && row.Label == "" {
					row.Label = to
				}
			}
		}
		a.Attempts[i].Asks = asks
	}
}
