package queue

import (
	"strings"

	"heddle/conf"
	"heddle/rm/queue/fairrule"
)

// placement reads the rules of the allocation file, or else the rules that keys of yarn-site.xml stand for.
func (p *fairParser) placement(e *conf.Element, t *Tree) Placement {
	if e == nil {
		return Placement{rules: fairrule.Default(p.undeclared, p.userQueues)}
	}
	return Placement{rules: fairrule.Parse(e, t, func(e *conf.Element, reason string) { p.fail(e, nil, reason) })}
}

// Is implements fairrule.Queues.
func (t *Tree) Is(path string) (there, leaf bool) {
	q := t.byPath[path]
	return q != nil, q != nil && q.Leaf()
}

// placeFair applies the rules.
func (t *Tree) placeFair(app App, groups func(string) ([]string, error)) (string, error) {
	path, err := fairrule.Place(t.Settings.Placement.rules, fairrule.App{User: app.User, Queue: app.Queue}, t, groups)
	switch {
	case err != nil:
		return app.Queue, &Refusal{Text: err.Error()}
	case path == "":
		return app.Queue, fails("Reject application %s submitted by user %s application rejected by placement rules.", app.ID, app.User)
	case !t.possible(path):
		return path, fails("%s is not a leaf queue", conf.Shorten(path))
	}
	return path, nil
}

// possible reports whether a path is that of a leaf, or of a leaf that the scheduler could create.
func (t *Tree) possible(path string) bool {
	if q := t.byPath[path]; q != nil {
		return q.Leaf()
	}
	above := t.Above(path)
	return fairrule.ValidName(path) && strings.HasPrefix(path, "root.") && (!above.Leaf() || above == t.Root)
}
