package hopper

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"heddle/sim/study/copies"
	"heddle/yarn/records"
)

// mix is the workload of Hopper's study: jobs in the shape of Facebook's, most of them small and a few large ones with much of the work.
type mix struct {
	jobs, nodes int
	load        float64 // of the slots, if slow tasks get copies at once
	phases      int
	size        float64 // factor of the numbers of tasks
	beta        float64 // of all tasks; 0: each user has another one
	longest     float64 // times the least time that a task takes; 0: longestTask
	detection   float64 // how long a task must run until it is seen to be slow, in the least time that one takes
	local       bool    // tasks of first phases have inputs on three nodes
}

// coresOfNode are cores of a node, as in the text.
const coresOfNode = 16

var hopperNode = records.NewResource(coresOfNode*2048, coresOfNode)

// Groups of users have tasks of different shapes; the text has β from 1 to 2.
var betas = []float64{1.2, 1.35, 1.5, 1.65, 1.8}

const (
	leastTasks, mostTasks, ofTasks = 4., 3000., .9 // a job's tasks: bounds and shape of their Pareto distribution
	longestTask                    = 300.          // times the least time that a task of the job takes: what takes longer is taken to fail, and to begin again
)

// draw makes the jobs of a seed. They come so that tasks and copies of slow ones keep the load of the slots busy; a quarter of the jobs have tasks of two slots' memory, a quarter of two
// cores.
func (m *mix) draw(seed uint64) []copies.Job {
	random := rand.New(rand.NewPCG(seed, 2015))
	jobs := make([]copies.Job, m.jobs)
	work := 0. // ms of slots
	for i := range jobs {
		j := &jobs[i]
		g := random.IntN(len(betas))
		j.User = fmt.Sprint("u", g)
		cores, gb := int64(1), int64(2)
		switch random.IntN(4) {
		case 0:
			gb = 4
		case 1:
			cores = 2
		}
		j.Size = records.NewResource(gb<<10, cores)
		n := int(max(m.size, 1) * truncated(random, leastTasks, mostTasks, ofTasks))
		least := 1000 * (2 + 6*random.Float64())
		j.Detection = int64(m.detection * least)
		for range m.phases {
			beta := betas[g]
			if m.beta > 0 {
				beta = m.beta
			}
			p := m.phase(random, max(1, n/m.phases), least, beta, len(j.Phases) == 0)
			for _, t := range p.Tasks {
				work += float64(worked(&p, &t, j.Detection)) * float64(max(cores, gb/2))
			}
			j.Phases = append(j.Phases, p)
		}
	}
	gap := work / (m.load * float64(m.nodes*coresOfNode)) / float64(m.jobs)
	at := 0.
	for i := range jobs {
		jobs[i].At = int64(at)
		at += random.ExpFloat64() * gap
	}
	return jobs
}

// phase draws tasks. What a new one is expected to take is the median, and slow ones are the slowest quarter.
func (m *mix) phase(random *rand.Rand, n int, least, beta float64, first bool) copies.Phase {
	quantile := func(x float64) int64 { return int64(least * math.Pow(1-x, -1/beta)) }
	most := least * longestTask
	if m.longest > 0 {
		most = least * m.longest
	}
	p := copies.Phase{Least: int64(least), Usual: quantile(.5), Slow: quantile(.75), Tasks: make([]copies.Task, n)}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.Original, t.Copy = int64(truncated(random, least, most, beta)), int64(truncated(random, least, most, beta))
		if m.local && first {
			for _, k := range random.Perm(m.nodes)[:min(3, m.nodes)] {
				t.Inputs = append(t.Inputs, int32(k))
			}
			slices.Sort(t.Inputs)
		}
	}
	return p
}

// worked returns how long a task keeps slots busy if it gets a copy as soon as it is seen to be slow.
func worked(p *copies.Phase, t *copies.Task, detection int64) int64 {
	if t.Original < max(p.Slow, detection+p.Usual) {
		return t.Original
	}
	return detection + 2*min(t.Copy, t.Original-detection)
}

// truncated draws from a Pareto distribution with an upper bound.
func truncated(random *rand.Rand, least, most, shape float64) float64 {
	above := math.Pow(least/most, shape)
	return least * math.Pow(1-random.Float64()*(1-above), -1/shape)
}
