package scheduler

import (
	"heddle/rm/scheduler/constraint"
	"heddle/rm/scheduler/demand"
)

// Placing tells the scheduler of allocation tags and attributes, on which placement constraints hang.
type Placing struct{ *Partitions }

// NameApp says how constraints of others name an application: by its id, and by the tags that it was submitted with.
func (s *Placing) NameApp(h AppHandle, id string, tags []string) { s.cfg.Placing.Name(h, id, tags) }

// SetTags says which allocation tags a container has that was restored. Those of containers that are granted are known.
func (s *Placing) SetTags(h ContainerHandle, tags []string) {
	c := &s.of(h).Containers[h]
	s.cfg.Placing.Placed(h, c.App, c.Node, tags)
}

// TagsOf returns the allocation tags of a container, each once. They are not to be changed.
func (s *Placing) TagsOf(h ContainerHandle) []string { return s.cfg.Placing.TagsOf(h) }

// SetAttributes says which attributes a host has, by their names with prefixes.
func (s *Placing) SetAttributes(host string, to map[string]string) {
	s.cfg.Placing.SetAttributes(host, to)
	for i := range s.parts {
		s.parts[i].due = true
	}
}

// Outstanding returns a function that returns the row of a request of an application for any node, if anything of it is pending. over says that a limit of
// its queues or its user keeps it from containers, although a node has room. tried is false while it is yet to be searched for.
func (s *Placing) Outstanding(h AppHandle) func(priority int32, id int64) (row Ask, over, tried bool) {
	return func(priority int32, id int64) (row Ask, over, tried bool) {
		i, d := s.holder(h, priority, id)
		if d == nil || d.Pending == 0 {
			return Ask{}, false, true
		}
		row = d.Row()
		row.Label = s.parts[i].label
		limited := d.Why == demand.OverLimit || d.Why == demand.Untried
		return row, limited && s.parts[i].core.Nodes.Index.Has(&d.Size), d.WasTried()
	}
}

// Placement holds what a request says of its containers.
type Placement = constraint.Request
