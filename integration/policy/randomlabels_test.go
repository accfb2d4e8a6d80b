package policy

import (
	"fmt"
	"math/rand/v2"
)

// randomPartitions makes up a scenario of YARN's CapacityScheduler with labelled nodes.
func randomPartitions(seed uint64) string {
	d := &dice{Rand: rand.New(rand.NewPCG(seed, 1)), home: map[string]string{}}
	d.sizes = d.chance(40)
	d.labels = []string{"", "x"}
	if d.chance(60) {
		d.labels = append(d.labels, "y")
	}
	d.say("scheduler capacity\nset yarn.node-labels.enabled true")
	d.capacity()
	for _, label := range d.labels[1:] {
		d.sharesOf(label)
	}
	for _, leaf := range d.leaves {
		d.settingsOfLabels(leaf)
	}
	exclusivity := ""
	if d.shared = d.chance(40); d.shared {
		exclusivity = "(exclusive=false)"
	}
	for _, label := range d.labels[1:] {
		d.say("labels add %s%s", label, exclusivity)
	}
	for _, label := range d.labels {
		d.labelledNode(label)
		if !d.sizes && d.chance(50) {
			d.labelledNode(label)
		}
	}
	d.submit()
	d.settle()
	for range 9 + d.IntN(6) {
		d.eventOfLabels()
		d.settle()
	}
	return d.out.String()
}

// sharesOf draws capacities of queues in a partition. Some queues name only one label, or none.
func (d *dice) sharesOf(label string) {
	d.say("cs root.accessible-node-labels.%s.capacity 100", label)
	nothing := map[string]bool{} // queues without a share have children without one
	for _, path := range parents {
		left := 100
		if nothing[path] {
			left = 0
		}
		for i, name := range d.below[path] {
			share := left
			if rest := len(d.below[path]) - 1 - i; rest > 0 {
				share = 10 * d.IntN(left/10+1)
			}
			left -= share
			nothing[path+"."+name] = share == 0
			key := fmt.Sprintf("cs %s.%s.accessible-node-labels.%s", path, name, label)
			d.say("%s.capacity %d", key, share)
			if d.chance(30) {
				d.say("%s.maximum-capacity %d", key, min(100, share+10*(1+d.IntN(5))))
			}
		}
	}
}

func (d *dice) settingsOfLabels(leaf string) {
	if d.chance(40) {
		d.say("cs %s.default-node-label-expression %s", leaf, one(d, d.labels[1:]...))
	}
	for _, label := range d.labels[1:] {
		if d.chance(30) {
			d.say("cs %s.accessible-node-labels.%s.maximum-am-resource-percent %v", leaf, label, one(d, 0.2, 0.5, 1))
		}
	}
}

func (d *dice) labelledNode(label string) {
	d.node()
	if label != "" {
		d.say("settle nodes")
		d.say("labels on %s=%s", d.nodes[len(d.nodes)-1], label)
	}
}

// askedLabel is that of an application's requests of a priority.
func (d *dice) askedLabel(app string, priority int) string {
	x := int(app[0])*5 + priority*3
	if x%4 == 0 {
		return "" // the queue's default
	}
	return " label=" + d.labels[x%len(d.labels)]
}

func (d *dice) eventOfLabels() {
	switch n := d.IntN(100); {
	case n < 12:
		d.say("settle nodes\nlabels on %s=%s", one(d, d.nodes...), one(d, d.labels...))
	case n < 18:
		d.sharesOf(one(d, d.labels[1:]...))
		d.say("refresh")
	case n < 24 && len(d.nodes) < 8:
		d.labelledNode(one(d, d.labels...))
	default:
		d.event()
	}
}
