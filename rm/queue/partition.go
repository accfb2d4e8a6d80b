package queue

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/queue/label"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/template"
)

// A partition is the nodes that have a label. Queues have capacities of their own in each. So the tree has a copy for each label that its
// settings name, whose queues have the shares of that partition; everything else in them is the same.

// In returns the tree as it is in the partition of a label: the tree itself in the default one. In the partition of a label that no
// setting names, only the root has a share. Trees of other schedulers know no labels.
func (t *Tree) In(name string) *Tree {
	if name == t.Label || t.Kind != Capacity {
		return t
	}
	if of := t.partitions[name]; of != nil {
		return of
	}
	root := &t.copies()[0]
	root.All(func(q *Queue) { q.withoutShare() })
	return t.partition(name, root)
}

// Labels returns the labels that settings of queues name, sorted.
func (t *Tree) Labels() []string { return t.labels }

// LabelsOf returns the labels of the partitions in which a queue may have something by its settings, sorted: all that any queue names, of the root.
func (t *Tree) LabelsOf(q *Queue) []string {
	if q.Parent == nil {
		return t.labels
	}
	names := slices.Clone(q.Shares)
	for _, name := range q.Labels {
		if name != label.Any && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// partition returns a tree like t with other queues.
func (t *Tree) partition(name string, root *Queue) *Tree {
	of := newTree(t.Kind, root)
	of.Label, of.Dominant, of.Settings, of.types, of.vector = name, t.Dominant, t.Settings, t.types, t.vector
	return of
}

// withoutShare gives a queue what it has in a partition of which no setting tells.
func (q *Queue) withoutShare() {
	q.Weight, q.NormalizedWeight = -1, 0
	percent, share := 0.0, float32(0)
	if q.Parent == nil {
		percent, share = 100, 1
	}
	q.Unit, q.Vector, q.MaximumVector = quantity.ByPercent, quantity.Uniform(percent, quantity.ByPercent), quantity.Uniform(percent, quantity.ByPercent)
	q.Percent, q.Capacity, q.Maximum, q.AbsoluteCapacity, q.AbsoluteMaximum = percent, share, share, share, share
}

// partitions reads the shares that queues have in the partitions of labels.
func (p *parser) partitions(t *Tree) {
	t.labels = label.Named(p.settings)
	t.partitions = map[string]*Tree{}
	for _, q := range t.queues {
		q.Shares, q.labelShare = nil, 0 // those of the tree of which this one was made
		for _, name := range t.labels {
			if label.Sets(p.settings, q.Path, name) {
				q.Shares = append(q.Shares, name)
			}
		}
	}
	for _, name := range t.labels {
		p.label = name
		root := &t.copies()[0]
		root.All(p.shareIn)
		if p.ok() {
			p.shares(root)
		}
		t.partitions[name] = t.partition(name, root)
	}
	p.label = ""
	for _, q := range t.queues {
		p.labels(t, q)
		if len(q.Children) > 0 && !p.vector {
			p.oneUnit(t, q)
		}
	}
}

// shareIn reads what a queue has in the partition that is being read. The root always has all of it.
func (p *parser) shareIn(q *Queue) {
	q.withoutShare()
	if q.Parent == nil {
		rootWeight(p, q)
		return
	}
	if !label.Sets(p.settings, q.Path, p.label) && q.Made != template.Flexible {
		return
	}
	p.capacities(q)
	if name, v := p.own(q.Path, label.Key(p.label)+"maximum-am-resource-percent", ""); v != "" {
		q.MaxAMShare = float32(p.number(name, v, math.Inf(-1))) // YARN takes any
	}
	checkRange(p, q)
}

// checkRange checks what YARN checks of a queue's share of a partition alone (Hadoop: CapacitySchedulerConfiguration.internalGetLabeledQueueCapacity).
func checkRange(p *parser, q *Queue) {
	for _, of := range []string{"capacity", "maximum-capacity"} {
		key := q.Path + "." + label.Key(p.label) + of
		v, err := strconv.ParseFloat(strings.TrimSpace(p.settings[key]), 32)
		if err == nil && (v < 0 && of == "capacity" || v > 100) {
			delete(p.failed, Prefix+key)
			p.failWith(fmt.Sprintf("Illegal capacity of %s for node-label=%s in queue=%s, valid capacity should in range of [0, 100].", quantity.Java(float32(v)), p.label, q.Path),
				key, p.settings[key], "a share of a partition is from 0 to 100")
		}
	}
}

// rootWeight reads the weight of the root in a partition, or its amounts, where a setting gives it some: they are shown, and have no effect.
func rootWeight(p *parser, q *Queue) {
	key, text := p.own(q.Path, label.Key(p.label)+"capacity", "")
	if !strings.HasSuffix(text, "w") && !strings.HasPrefix(text, "[") {
		return
	}
	switch v := p.quantity(key, text, true); v.Unit(p.types.Len()) {
	case quantity.ByWeight:
		q.Weight, q.NormalizedWeight = float32(v[0].Value), 1
	case quantity.ByAmount:
		q.Vector = v
	}
}

// labels checks which labels a queue may use, and stores its largest share, which limits its applications.
func (p *parser) labels(t *Tree, q *Queue) {
	for _, of := range t.partitions {
		q.labelShare = max(q.labelShare, of.queues[q.Index].AbsoluteCapacity)
	}
	q.applications()
	switch above := q.Parent; {
	case above == nil || above.Parent == nil:
	case label.Has(above.Labels, label.Any):
	case label.Has(q.Labels, label.Any):
		key := q.Path + "." + label.AccessKey
		p.fail(key, p.settings[key], fmt.Sprintf("queue %s can't use all labels, as %s above it can't", q.Path, above.Path))
	default:
		if more := label.Beyond(q.Labels, above.Labels); len(more) > 0 {
			list, key := strings.Join(more, ","), q.Path+"."+label.AccessKey
			p.failWith("Some labels of child queue is not a subset of parent queue, these labels=["+list+"]", key, p.settings[key],
				fmt.Sprintf("queue %s can't use %s, as %s above it can't", q.Path, list, above.Path))
		}
	}
	if own := q.DefaultLabel; !label.Has(q.Labels, own) {
		p.failWith(fmt.Sprintf("Invalid default label expression of  queue=%s doesn't have permission to access all labels in default label expression."+
			" labelExpression of resource request=%s. Queue labels=%s", q.Path, own, strings.Join(q.Labels, ",")),
			q.Path+"."+label.DefaultKey, own, fmt.Sprintf("queue %s can't use this label; it may use: %s", q.Path, strings.Join(q.Labels, ", ")))
	}
}

// defaultLabel reads the label of a queue's asks that have none. A queue inherits it if it may use all labels that the queue above it may.
func (p *parser) defaultLabel(q *Queue) {
	_, q.DefaultLabel = p.own(q.Path, label.DefaultKey, "")
	if q.DefaultLabel == "" && q.Parent != nil && len(label.Beyond(q.Parent.Labels, q.Labels)) == 0 {
		q.DefaultLabel = q.Parent.DefaultLabel
	}
}

// oneUnit checks that the children of a queue have their capacities in one unit, in all partitions (Hadoop:
// AbstractParentQueue.getCapacityConfigurationTypeForQueues).
func (p *parser) oneUnit(t *Tree, parent *Queue) {
	var units []string
	var details strings.Builder
	for _, c := range parent.Children {
		for _, name := range append([]string{""}, t.labels...) {
			q := t.In(name).queues[c.Index]
			unit := ""
			switch {
			case q.Unit == quantity.ByWeight:
				unit = "weight"
			case q.Unit == quantity.ByAmount && !q.Vector.Amounts().IsZero():
				unit = "absolute"
			case q.Unit == quantity.ByPercent && q.Capacity > 0:
				unit = "percentage"
			default:
				continue
			}
			if !slices.Contains(units, unit) {
				units = append(units, unit)
			}
			fmt.Fprintf(&details, "{Queue=%s, label=%s uses %s mode}. ", q.Path, name, unit)
		}
	}
	if len(units) < 2 {
		return
	}
	key := parent.Children[0].Path + ".capacity"
	p.failWith(fmt.Sprintf("Parent queue '%s' have children queue used mixed of  weight mode, percentage and absolute mode, it is not allowed, "+
		"please double check, details:%s", parent.Path, details.String()), key, p.settings[key],
		fmt.Sprintf("the children of %s mix weights, percentages and amounts of resources: %s", parent.Path, strings.TrimSpace(details.String())))
}
