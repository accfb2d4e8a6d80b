package view

import (
	"heddle/rm/queue"
	"heddle/yarn/records"
)

// Partitions finds what the queues of a tree have of the nodes with a label. It computes the shares of a partition once.
type Partitions struct {
	tree   *queue.Tree
	sizes  map[string]records.Resource
	shares map[string][]queue.Share
}

// PartitionsOf returns the partitions of a tree, as large as they are now.
func PartitionsOf(v *Viewer, tree *queue.Tree) *Partitions {
	return &Partitions{tree, LabelsOf(v).Sizes(), map[string][]queue.Share{}}
}

// Of returns a queue as it is in the partition of a label, its share of that, and the partition's size.
func (p *Partitions) Of(q *queue.Queue, label string) (in *queue.Queue, share queue.Share, size records.Resource) {
	tree := p.tree.In(label)
	size = p.sizes[label]
	if p.shares[label] == nil {
		p.shares[label] = tree.Effective(size)
	}
	return tree.Queues()[q.Index], q.Shown(label, p.shares[label][q.Index]), size
}
