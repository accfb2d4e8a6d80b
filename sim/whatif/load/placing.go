package load

import (
	"fmt"
	"maps"

	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
)

// part returns the outcome of containers that begin on a node now, by its label.
func (b *builder) part(node int) *Outcome {
	label := b.known[node].spec.Label
	o := b.load.Parts[label]
	if o == nil {
		o = &Outcome{Granted: -1, End: -1}
		b.load.Parts[label] = o
	}
	return o
}

// setAttributes enters the attributes of a host. A session begins by saying again what there was.
func (b *builder) setAttributes(host string, to map[string]string) {
	if maps.Equal(b.attributes[host], to) {
		return
	}
	if b.attributes[host] = to; len(to) == 0 {
		delete(b.attributes, host)
	}
	b.event(Event{Op: eventlog.SetAttributes, Host: host, Attributes: to})
}

// setTags enters the allocation tags of a restored container.
func (b *builder) setTags(r *eventlog.Event) error {
	c := b.containers[r.Container]
	if c == nil {
		return fmt.Errorf("there is no container %d", r.Container)
	}
	c.tags = r.Add
	for i := range c.of.Running {
		if s := &c.of.Running[i]; s.Kind == c.kind && s.Life == c.life {
			s.Tags = r.Add
		}
	}
	return nil
}

// tagsOf returns the allocation tags of what a decision grants: those of its request.
func (a *app) tagsOf(d *eventlog.Decision) []string {
	if p := a.shapes[place{d.Priority, d.ID, scheduler.Any}].Scheduling; p != nil {
		return p.Tags
	}
	return nil
}
