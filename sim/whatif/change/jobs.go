package change

import (
	"heddle/rm/scheduler"
	"heddle/sim"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

// Apps makes applications of a trace's jobs. The first one is submitted at a time, in ms since 1970.
func Apps(jobs []sim.Job, from int64) []load.App {
	apps := make([]load.App, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		apps[i] = load.App{
			ID: "added " + j.Name, Name: j.Name, Queue: j.Queue, User: j.User, Label: j.Label, Priority: j.Priority, Master: j.AM, Submit: from + j.Submit.Millis(),
			Attempts: []load.Attempt{attempt(j)}, Then: load.Outcome{Granted: -1, End: -1},
		}
	}
	return apps
}

// attempt has each stage follow the one before.
func attempt(j *sim.Job) load.Attempt {
	t := load.Attempt{Fixed: -1}
	delay := j.AMStart.Millis()
	for i := range j.Stages {
		st := &j.Stages[i]
		if len(st.Tasks) == 0 {
			continue
		}
		t.Asks = append(t.Asks, load.Ask{Ended: t.Ends, Delay: delay, Rows: []load.Row{{Ask: scheduler.Ask{
			Priority: st.Priority, Name: scheduler.Any, Capability: st.Resource, Count: int32(len(st.Tasks)), RelaxLocality: true, Label: j.Label,
		}}}})
		delay = 0
		k := kindOf(&t, st.Priority, st.Resource)
		for _, task := range st.Tasks {
			k.Lives = append(k.Lives, load.Life{MS: task.Duration.Millis(), Post: -1})
		}
		t.Ends += int32(len(st.Tasks))
	}
	return t
}

func kindOf(t *load.Attempt, priority int32, size records.Resource) *load.Kind {
	for i := range t.Kinds {
		if k := &t.Kinds[i]; k.Priority == priority && k.Size == size {
			return k
		}
	}
	t.Kinds = append(t.Kinds, load.Kind{Priority: priority, Size: size})
	return &t.Kinds[len(t.Kinds)-1]
}
