package sim

import (
	"heddle/rm/scheduler"
	"heddle/yarn/records"
)

// Job is an application of a trace.
type Job struct {
	Name     string
	Submit   Time
	Queue    string
	User     string
	Priority int32
	Label    string // of the nodes that it runs on; empty: those without one
	// AM is the resource of the ApplicationMaster for the life of the job. Zero means that it runs outside of the
	// cluster.
	AM records.Resource
	// AMStart is how long the ApplicationMaster takes from its grant to its first request.
	AMStart Time
	// Stages run one after the other; all tasks of one may run at once.
	Stages []Stage
	// Estimate is the mean duration of a task as known at submission. Reports use it to tell short jobs from long ones.
	Estimate Time
	// Work is how long its tasks last together, if the job tells how far it is; 0: it doesn't.
	Work Time
}

// Stage has tasks of one size, such as the maps of a job.
type Stage struct {
	Priority int32 // priority of its requests; lower numbers are more urgent
	Resource records.Resource
	Tasks    []Task
	// Scheduling has the allocation tags of its containers, and where these may run; nil: anywhere. Hosts that its tasks prefer count nothing then.
	Scheduling *scheduler.SchedulingRequest
}

// Task runs in one container.
type Task struct {
	Duration Time
	Host     string // preferred host; "" stands for any
	Rack     string // rack of that host
}

// Tasks returns the number of the job's tasks.
func (j *Job) Tasks() (n int) {
	for i := range j.Stages {
		n += len(j.Stages[i].Tasks)
	}
	return n
}

// HostsOf lists the hosts that tasks prefer, in the order of their appearance, with their racks.
func HostsOf(jobs []Job) (hosts, racks []string) {
	seen := map[string]bool{}
	for i := range jobs {
		for k := range jobs[i].Stages {
			for _, t := range jobs[i].Stages[k].Tasks {
				if t.Host != "" && !seen[t.Host] {
					seen[t.Host] = true
					hosts, racks = append(hosts, t.Host), append(racks, t.Rack)
				}
			}
		}
	}
	return hosts, racks
}
