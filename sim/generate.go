package sim

import (
	"fmt"
	"math/rand/v2"

	"heddle/yarn/records"
)

// Workload describes synthetic jobs.
type Workload struct {
	Tasks    int     // tasks of all jobs together
	PerJob   int     // mean number of tasks of a job; jobs have 1 to 2·PerJob−1
	Mean     Time    // mean duration of a task; durations are exponential
	Load     float64 // mean share of busy slots, 0 to 1; arrivals are Poisson
	Slots    int     // slots of the cluster
	Resource records.Resource
	Queues   []string // queues that get jobs in turn
	Users    int      // number of users who own jobs in turn
}

// Generate returns synthetic jobs. The same seed gives the same jobs.
func Generate(w Workload, seed uint64) []Job {
	random := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	gap := float64(w.PerJob) * float64(w.Mean) / (w.Load * float64(w.Slots))
	var jobs []Job
	at := 0.0
	for left := w.Tasks; left > 0; {
		n := min(1+random.IntN(2*max(w.PerJob, 1)-1), left)
		left -= n
		j := Job{
			Name: fmt.Sprintf("job%d", len(jobs)+1), Submit: Time(at), Queue: w.Queues[len(jobs)%len(w.Queues)],
			User: fmt.Sprintf("user%d", len(jobs)%max(w.Users, 1)+1), Estimate: w.Mean,
		}
		tasks := make([]Task, n)
		for i := range tasks {
			tasks[i].Duration = Time(random.ExpFloat64() * float64(w.Mean))
		}
		j.Stages = []Stage{{Priority: 1, Resource: w.Resource, Tasks: tasks}}
		jobs = append(jobs, j)
		at += random.ExpFloat64() * gap
	}
	return jobs
}
