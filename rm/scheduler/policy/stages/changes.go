package stages

import "heddle/rm/scheduler/handle"

// Changes are the jobs at which the leaf is to look again, with the next Tick. The zero value has none.
type Changes struct{ list []handle.App }

// Note adds a job. One that is nil or has no stages is left out.
func (c *Changes) Note(j *Job) {
	if j != nil && j.Stages && (len(c.list) == 0 || c.list[len(c.list)-1] != j.Handle) {
		c.list = append(c.list, j.Handle)
	}
}

// NoteAll has all jobs of a book in the list, whether they have stages or not.
func (c *Changes) NoteAll(b *Book) {
	c.list = c.list[:0]
	for _, j := range b.Jobs {
		c.list = append(c.list, j.Handle)
	}
}

// Take empties the list and returns what it had. That is good until the next call of a method.
func (c *Changes) Take() []handle.App {
	list := c.list
	c.list = list[:0]
	return list
}

// few is up to how many jobs a policy sums up what it knows of all of them with each change. With more of them it does so each interval only.
const (
	few      = 64
	interval = 100 // ms
)

// Due reports whether a policy is to sum up again what it knows of all jobs. If so, the next time is counted from now, in ms.
func (b *Book) Due(now int64) bool {
	if len(b.Jobs) > few && b.summed <= now && now-b.summed < interval {
		return false
	}
	b.summed = now
	return true
}
