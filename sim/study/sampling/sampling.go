// Package sampling simulates how the baselines of Sparrow's text place tasks: at once, by the lengths of queues. No system here has them.
package sampling

import (
	"math/rand/v2"
	"slices"
)

// Way is how a baseline chooses workers.
type Way struct {
	Ratio int  // workers that are asked for each task; 1: none is
	Batch bool // the least loaded of all that were asked take the job's tasks, instead of those asked for each task
}

// queues are workers with cores, each of which takes tasks in the order of their arrival.
type queues struct {
	cores   int
	free    []float64   // by worker and core: when it has nothing more to do
	ends    [][]float64 // by worker: when the tasks end that were sent there, in order
	random  *rand.Rand
	asked   []int32
	lengths []int
}

func newQueues(workers, cores int, random *rand.Rand) *queues {
	return &queues{cores: cores, free: make([]float64, workers*cores), ends: make([][]float64, workers), random: random}
}

// length returns how many tasks a worker has at a time.
func (q *queues) length(w int32, now float64) int {
	list := q.ends[w]
	k := 0
	for k < len(list) && list[k] <= now {
		k++
	}
	q.ends[w] = slices.Delete(list, 0, k)
	return len(list) - k
}

// take gives a worker a task at a time, and returns when it begins and ends.
func (q *queues) take(w int32, now, lasts float64) (begins, ends float64) {
	cores := q.free[int(w)*q.cores : (int(w)+1)*q.cores]
	least := 0
	for i := range cores {
		if cores[i] < cores[least] {
			least = i
		}
	}
	begins = max(now, cores[least])
	ends = begins + lasts
	cores[least] = ends
	list := q.ends[w]
	i, _ := slices.BinarySearch(list, ends)
	q.ends[w] = slices.Insert(list, i, ends)
	return begins, ends
}

// place chooses workers for so many tasks at a time.
func (q *queues) place(p Way, tasks int, now float64) []int32 {
	workers := len(q.ends)
	q.asked = q.asked[:0]
	for range tasks * p.Ratio {
		q.asked = append(q.asked, int32(q.random.IntN(workers)))
	}
	if p.Ratio == 1 {
		return q.asked
	}
	if !p.Batch {
		for i := range tasks {
			best := q.asked[i*p.Ratio]
			for _, w := range q.asked[i*p.Ratio+1 : (i+1)*p.Ratio] {
				if q.length(w, now) < q.length(best, now) {
					best = w
				}
			}
			q.asked[i] = best
		}
		return q.asked[:tasks]
	}
	q.lengths = slices.Grow(q.lengths[:0], workers)[:workers]
	for _, w := range q.asked {
		q.lengths[w] = q.length(w, now)
	}
	slices.SortFunc(q.asked, func(a, b int32) int { return q.lengths[a] - q.lengths[b] })
	return q.asked[:tasks]
}

// Responses simulates jobs whose tasks are placed at once, of exponential durations with a mean of 100 ms. It returns the mean response of those after
// the warm-up, in s, and the part of these of which every task began at once.
func Responses(p Way, workers, cores, tasks, jobs, warmUp int, load float64, seed uint64) (mean, atOnce float64) {
	random := rand.New(rand.NewPCG(seed, 4002))
	q := newQueues(workers, cores, random)
	const task, oneWay = .1, .0005
	now := 0.
	for i := range jobs + warmUp {
		now += random.ExpFloat64() * float64(tasks) * task / (load * float64(workers*cores))
		arrives := now + 2*oneWay // the answers to what was asked
		if p.Ratio > 1 {
			arrives += oneWay
		} else {
			arrives = now + oneWay
		}
		last, waited := 0., false
		for _, w := range q.place(p, tasks, now+oneWay) {
			begins, ends := q.take(w, arrives, random.ExpFloat64()*task)
			last, waited = max(last, ends), waited || begins > arrives
		}
		if i < warmUp {
			continue
		}
		mean += (last - now) / float64(jobs)
		if !waited {
			atOnce += 1 / float64(jobs)
		}
	}
	return mean, atOnce
}
