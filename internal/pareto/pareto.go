// Package pareto fits the Pareto distribution to how long tasks take, for ApplicationMasters and the ordering policy Hopper.
package pareto

import "math"

// Enough is how many tasks must have ended before a fit says anything.
const Enough = 50

// Shape returns the maximum likelihood estimate of the shape β: n/Σln(x_i/x_m). x_m is the least time of a task that has ended, and n their number.
// Times are in any unit, above 0. Those below 0 were cut off at that time: the task failed, or a copy was faster. They count in the sum with the
// time that they had. It is 0 if fewer than Enough tasks have ended, and infinite if all took the same time.
func Shape(took []float32) (beta float64, ended int) {
	least, ended := leastOf(took)
	if ended < Enough {
		return 0, ended
	}
	sum := 0.
	for _, x := range took {
		sum += logOf(x, least)
	}
	return float64(ended) / sum, ended
}

// leastOf is the least time of a task that has ended, and how many have.
func leastOf(took []float32) (least float64, ended int) {
	first := float32(math.Inf(1))
	for _, x := range took {
		if x > 0 {
			if ended++; x < first {
				first = x
			}
		}
	}
	return float64(first), ended
}

// logOf is what a task adds to the sum; 0 if it was cut off before the least time.
func logOf(took float32, least float64) float64 {
	if x := math.Abs(float64(took)); x > least {
		return math.Log(x / least)
	}
	return 0
}
