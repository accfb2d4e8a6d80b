package mapreduce

import (
	"slices"

	"heddle/am"
	"heddle/am/client"
	"heddle/am/stage"
)

// tellTry tells the ResourceManager of an attempt at a task that is over, for the job's receipt.
func tellTry(c *coordinator, id stage.AttemptID, outcome client.TryOutcome) {
	a := &c.planner.Attempts(id.TaskID)[id.Number]
	w := c.slots[a.Slot]
	t := am.TaskTry{
		Container: w.ID, Reduce: id.Stage == stage.Reduce, Index: id.Index, From: c.began.Add(a.Begun), To: c.now(),
		Outcome: outcome, Copy: a.Copy,
	}
	if a.Ended > 0 {
		t.To = c.began.Add(a.Ended)
	}
	if a.Fetched > 0 {
		t.Fetched = c.began.Add(a.Fetched)
	}
	if id.Stage == stage.Map {
		hosts := c.splits[id.Index].Hosts
		t.Remote = len(hosts) > 0 && !slices.Contains(hosts, w.host)
	}
	c.cluster.AddTry(t)
}
