package anonymous

import (
	"maps"
	"slices"

	"heddle/rm/scheduler/constraint"
)

func (n *Names) tag(tag string) string { return n.call("tag", tag) }

func (n *Names) tags(tags []string) (to []string) {
	for _, tag := range tags {
		to = append(to, n.tag(tag))
	}
	return to
}

// constraint maps the tags, applications and attributes in a placement constraint.
func (n *Names) constraint(c *constraint.Constraint) *constraint.Constraint {
	if c == nil {
		return nil
	}
	to := *c
	to.Tags, to.Of = n.tags(c.Tags), nil
	to.Name, to.Value, to.Why = n.call("attribute", c.Name), n.call("value", c.Value), ""
	switch c.Space {
	case constraint.AppID:
		to.App = n.app(c.App)
	default:
		to.App = n.tag(c.App)
	}
	for _, x := range c.Of {
		to.Of = append(to.Of, n.constraint(x))
	}
	return &to
}

// attributes maps attributes of a host, in the order of their names.
func (n *Names) attributes(all map[string]string) map[string]string {
	if all == nil {
		return nil
	}
	to := make(map[string]string, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		to[n.call("attribute", name)] = n.call("value", all[name])
	}
	return to
}
