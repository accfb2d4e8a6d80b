package stages

import "fmt"

// Crowd is what reduces hold whose job has maps left. If they held everything, no map could run, and they would wait for ever. Amounts are
// shares of the leaf.
type Crowd struct {
	Waits   float64 // what they hold
	Largest float64 // the largest container of a map that hasn't ended
}

// Add counts a job.
func (c *Crowd) Add(b *Book, j *Job) {
	if j.MapsLeft() {
		c.Waits += b.Holds(j, Reduce)
		c.Largest = max(c.Largest, b.Share(&j.Of[Map].Size))
	}
}

// Full reports whether one more such reduce, of a size, would leave no room for a map.
func (c *Crowd) Full(reduce float64) bool { return c.Waits+reduce+c.Largest > 1+1e-9 }

// Why says for people why a reduce waits where it is Full.
func (c *Crowd) Why() string {
	return fmt.Sprintf("reduces that wait for maps have %.0f %% of the queue, and no room would be left for a map", 100*c.Waits)
}
