package queue

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/queue/label"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/template"
)

// Queues are created on demand below a queue that allows it (Hadoop: CapacitySchedulerQueueManager.createQueue). A tree doesn't change: With and Without
// return trees with more and fewer of them, which have the settings of their templates.

// creation reads how queues are created below a queue.
func (p *parser) creation(q *Queue, legacy, flexible bool) {
	c := &q.Creation
	c.Legacy, c.Flexible = legacy, flexible
	q.managed = q.managed || legacy || flexible
	name, v := p.of(q.Path, template.DepthKey, "2")
	c.Depth = p.integer(name, v, 0)
	key := template.MaxKey
	if legacy {
		key = template.LegacyMaxKey
	}
	name, v = p.own(q.Path, key, "1000")
	c.Max = p.integer(name, v, 0)
	c.Full = p.truth(q.Path+"."+template.FullKey, false)
	if p.templates == nil {
		p.templates = template.Settings(p.base, p.settings) // of the configuration alone, if it is known
	}
	c.Of(p.templates, q.Path)
	if legacy {
		checkLeaves(p, q)
	}
}

// creatable says why a queue that doesn't exist can't be created, in Hadoop's words, or returns what has to be: missing parents first.
func (t *Tree) creatable(path string) ([]template.Created, error) {
	list, above, err := t.missing(path)
	if err == nil {
		err = above.Room(list[0])
	}
	if q := t.byPath[above.Path]; err == nil && list[0].Legacy {
		list[0].Zero, err = t.zero(list[0].Path, q)
	}
	if err == nil && len(t.queues) >= maxQueues {
		err = inWords("Cannot auto create queue %s. There are %d queues, and can't be more", path, len(t.queues))
	}
	return list, err
}

// missing is creatable without a look at bounds. above is the existing queue below which the first one would be.
func (t *Tree) missing(path string) (list []template.Created, above template.Parent, err error) {
	if t.Kind != Capacity || t.from == nil {
		return nil, above, words("there is no such queue")
	}
	return template.Missing(path, t)
}

// Parent implements template.Queues.
func (t *Tree) Parent(name string) (template.Parent, bool) {
	q, ok := t.Find(name)
	if !ok {
		return template.Parent{}, false
	}
	return template.Parent{
		Path: q.Path, Static: q.Made == template.Static, Leaf: q.Leaf(), Creation: &q.Creation, Children: len(q.Children),
		Weights: t.vector || len(q.Children) == 0 || slices.ContainsFunc(q.Children, func(c *Queue) bool { return c.Unit == quantity.ByWeight }),
	}, true
}

// MayUse reports whether a user may submit to a queue, also to one that doesn't exist: then the lists of its templates and of the queues above it say so. Every user
// may submit to a queue of which even the parent is unknown, as that fails anyway (Hadoop: CapacitySchedulerQueueManager.getPermissionsForDynamicQueue).
func (t *Tree) MayUse(path, user string, groupsOf func(string) ([]string, error)) bool {
	q, ok := t.Find(path)
	if !ok {
		list, above, err := t.missing(path)
		parent, _ := template.Cut(path)
		q = t.byPath[parent]
		switch {
		case err != nil && q == nil:
			return true
		case err == nil && !strings.HasPrefix(path, "root."): // Hadoop finds no lists by such a path
			return false
		case err == nil:
			q = t.byPath[above.Path]
			for p := t.from.again(); len(list) > 0; list = list[1:] {
				_, name := template.Cut(list[0].Path)
				q = p.created(q, name, list[0])
			}
		}
	}
	return q.Allows(Submit, user, groupsOf) || q.Allows(Administer, user, groupsOf)
}

// Adding returns a tree in which further queues are created. The error is an *Invalid if settings of templates can't be used.
func (t *Tree) Adding(list []template.Created) (*Tree, error) {
	return t.changed(func(p *maker, at copies) (touched []*Queue, created []template.Created) {
		for _, c := range list {
			parent, name := template.Cut(c.Path)
			above := at.find(parent)
			if above == nil || at.find(c.Path) != nil {
				continue
			}
			q := p.created(above, name, c)
			above.Children = append(above.Children, q)
			for _, c := range above.Children {
				c.left = leavings{}
			}
			at.more[q.Path] = q
			touched = append(touched, above)
		}
		return touched, slices.Concat(t.Created, list)
	})
}

// Without returns a tree without some queues that were created, and what is below them.
func (t *Tree) Without(paths []string) (*Tree, error) {
	gone := func(path string) bool { // by itself, or with the queue above it
		return slices.ContainsFunc(paths, func(of string) bool { return path == of || strings.HasPrefix(path, of+".") })
	}
	return t.changed(func(p *maker, at copies) (touched []*Queue, created []template.Created) {
		for _, path := range paths {
			parent, _ := template.Cut(path)
			if above, q := at.find(parent), at.find(path); above != nil && q != nil && q.Made != template.Static {
				above.Children = slices.DeleteFunc(above.Children, func(c *Queue) bool { return c.Path == path })
				touched = append(touched, above)
			}
		}
		return touched, slices.DeleteFunc(slices.Clone(t.Created), func(c template.Created) bool { return gone(c.Path) })
	})
}

// Restored returns a tree that was just read with queues that were created before. Those whose parent is gone, or a leaf, are gone; others are in the
// configuration now (Hadoop: CapacitySchedulerQueueManager.isDanglingDynamicQueue).
func (t *Tree) Restored(list []template.Created) (next *Tree, gone []string, err error) {
	parents := map[string]bool{}
	var keep []template.Created
	for _, c := range list {
		above, _ := template.Cut(c.Path)
		q := t.byPath[above]
		if t.byPath[c.Path] != nil || t.Kind != Capacity || !parents[above] && (q == nil || q.Leaf() || q.Creation.Legacy != c.Legacy) {
			gone = append(gone, c.Path)
			continue
		}
		keep = append(keep, c)
		parents[c.Path] = c.Parent
	}
	if len(keep) == 0 {
		return t, gone, nil
	}
	next, err = t.Adding(keep)
	return next, gone, err
}

// copies are those of the queues of a tree. Further ones, by their paths, come before them.
type copies struct {
	of   *Tree
	all  []Queue // by their Index in the tree
	more map[string]*Queue
}

func (c copies) find(path string) *Queue {
	if q := c.more[path]; q != nil || c.of.byPath[path] == nil {
		return q
	}
	return &c.all[c.of.byPath[path].Index]
}

// changed returns a tree like t after a change of its queues. change gets copies of them, and returns the queues whose children have changed.
func (t *Tree) changed(change func(p *maker, at copies) (touched []*Queue, created []template.Created)) (*Tree, error) {
	p := t.from.again()
	p.count = len(t.queues)
	at := copies{t, t.copies(), map[string]*Queue{}}
	touched, created := change(p, at)
	next := newTree(Capacity, &at.all[0])
	next.types, next.vector, next.Settings, next.Dominant, next.Problems, next.from = t.types, t.vector, t.Settings, t.Dominant, t.Problems, t.from
	next.stoppedGone, next.Created, next.labels = t.stoppedGone, created, t.labels
	done := map[*Queue]bool{}
	for _, q := range touched {
		if done[q] {
			continue
		}
		done[q] = true
		if p.sameWeights(q); p.ok() {
			p.shares(q)
		}
	}
	if len(t.labels) > 0 || p.labelled {
		for _, c := range created {
			if q := at.find(c.Path); q != nil {
				p.settle(q, q.Parent, c)
			}
		}
		p.partitions(next)
	} else {
		next.partitions = t.partitions
		for q := range done {
			for _, c := range q.Children {
				p.labels(next, c)
			}
		}
	}
	return next, p.err()
}

// maker makes queues of templates.
type maker struct{ *parser }

// again returns a maker with the same settings.
func (p *parser) again() *maker {
	return &maker{&parser{
		settings: maps.Clone(p.settings), base: p.settings, types: p.types, conf: p.conf, failed: map[string]bool{}, vector: p.vector, preempt: p.preempt, intra: p.intra,
		suspension: p.suspension, stages: p.stages,
	}}
}

// sameWeights checks that queues that are created have weights, unless capacities may be mixed. (A stock ResourceManager ends when one has none.)
func (p *maker) sameWeights(q *Queue) {
	for _, c := range q.Children {
		if c.Made != template.Flexible || c.Unit == quantity.ByWeight || p.vector {
			continue
		}
		mode := "percentage"
		if c.Unit == quantity.ByAmount {
			mode = "absolute"
		}
		key := c.Path + ".capacity"
		p.failWith(fmt.Sprintf("Parent queue '%s' have children queue used mixed of  weight mode, percentage and absolute mode, it is not allowed, please double check, "+
			"details:{Queue=%s, label= uses weight mode}. {Queue=%s, label= uses %s mode}. ", q.Path, c.Path, c.Path, mode),
			key, p.settings[key], "queues that are created have weights, such as 2w: see the templates of "+q.Path)
	}
}

// created makes a queue of its template.
func (p *maker) created(above *Queue, name string, c template.Created) *Queue {
	q := openQueue(name, above)
	q.Submit, q.Administer = none, none
	q.managed, q.Made = c.Parent, template.Flexible
	if c.Legacy {
		q.Made, q.Zero = template.LegacyLeaf, c.Zero
	}
	p.count++
	p.settle(q, above, c)
	p.capacities(q)
	if c.Parent {
		p.creation(q, false, true)
	}
	q.Stays = !p.truth(q.Path+"."+template.RemovalKey, true)
	p.limits(q)
	p.lists(q)
	return q
}

// settle enters the settings that a created queue gets from its template. What the configuration says of its path comes first, but for access
// control lists and, in flexible leaves, two limits (Hadoop: AutoCreatedQueueTemplate.setTemplateEntriesForChild, AbstractLeafQueue.parseAndSetDynamicTemplates).
func (p *maker) settle(q, above *Queue, c template.Created) {
	made := above.Creation.Settings(c)
	if !c.Legacy && !c.Parent {
		for key, value := range map[string]float64{"user-limit-factor": -1, "maximum-am-resource-percent": 1} {
			if _, set := made[key]; !set || p.base[q.Path+"."+key] != "" {
				p.settings[q.Path+"."+key] = strconv.FormatFloat(value, 'f', -1, 64)
			}
		}
	}
	for _, key := range []string{"acl_submit_applications", "acl_administer_queue"} {
		p.settings[q.Path+"."+key] = " "
		if v, set := made[key]; set && v != "" {
			p.settings[q.Path+"."+key] = v
		}
	}
	for key, value := range made {
		if strings.HasPrefix(key, label.AccessKey) {
			p.labelled = true
		}
		if whole := q.Path + "." + key; c.Legacy || p.settings[whole] == "" {
			p.settings[whole] = value
		}
	}
	for _, partition := range c.Zero {
		zero := "0"
		if strings.HasPrefix(p.settings[q.Path+"."+label.Key(partition)+"capacity"], "[") {
			zero = "[memory=0,vcores=0]"
		}
		p.settings[q.Path+"."+label.Key(partition)+"capacity"] = zero
	}
}
