package scheduler

import (
	"slices"

	"heddle/rm/queue"
	"heddle/rm/queue/label"
	"heddle/yarn/records"
)

// Former holds what a queue had of a partition before its configuration stopped to name it. YARN goes on showing that until it is restarted: with capacities of 0, and
// the amounts of then.
type Former struct {
	Guaranteed, Maximum, AMLimit records.Resource
	AMShare                      float32 // share for ApplicationMasters
	Share                        bool    // the configuration gives the queue no share any more; else it may only not use the label any more, and its AMLimit stays
}

// formers are by label and path.
type formers map[string]map[string]Former

// shares reports whether a tree gives a queue a share of a partition.
func shares(t *queue.Tree, q *queue.Queue, name string) bool {
	if q.Parent == nil {
		return slices.Contains(t.Labels(), name)
	}
	return slices.Contains(q.Shares, name)
}

// formerly returns what queues had that they don't have in the next tree. The cores are as they were.
func (p *partitions) formerly(next *queue.Tree) formers {
	old, out := p.core.Tree, formers{}
	names := slices.Clone(old.Labels())
	for name := range p.former {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		views := map[string]QueueView{}
		for _, v := range p.queuesIn(name) {
			views[v.Path] = v
		}
		for _, q := range old.Queues() {
			n, known := next.Find(q.Path)
			if !known || n.Path != q.Path {
				continue
			}
			before, kept := p.former[name][q.Path]
			lost := shares(old, q, name) || kept && before.Share
			bars := label.Has(q.Labels, name) && shares(old, q, name) || kept
			v := views[q.Path]
			f := Former{v.Guaranteed, v.Maximum, v.AMLimit, old.In(name).Queues()[q.Index].MaxAMShare, lost && !shares(next, n, name)}
			if !f.Share && !(bars && !label.Has(n.Labels, name)) {
				continue
			}
			if kept {
				before.Share = f.Share
				f = before
			}
			if out[name] == nil {
				out[name] = map[string]Former{}
			}
			out[name][q.Path] = f
		}
	}
	return out
}

// with adds what queues had of a partition to what they have.
func (all formers) with(name string, views []QueueView) []QueueView {
	for i := range views {
		if f, kept := all[name][views[i].Path]; kept {
			views[i].Former = &f
		}
	}
	return views
}

// goneViews are queues in a partition that has no core, but that they had shares of.
func (p *partitions) goneViews(name string) []QueueView {
	views := p.parts[0].queues()
	for i := range views {
		v := &views[i]
		views[i] = QueueView{Queue: v.Queue, Path: v.Path, Parent: v.Parent, Leaf: v.Leaf}
	}
	return p.former.with(name, views)
}
