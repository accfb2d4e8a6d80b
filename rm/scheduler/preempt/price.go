package preempt

import (
	"fmt"
	"math"
)

// unmeasured is the rate in bytes a second at which memory is thought to be paged out and in where it was not measured: BIG-C's disks
// took 3 s a GB.
const unmeasured = 1 << 30 / 3

// Facts are what is known of a container and its node when preemption asks what taking its resources would cost.
type Facts struct {
	Memory    int64 // bytes that it uses
	Footprint int64 // bytes that it would be left
	// Out and In are how quickly its node pages memory out and in, in bytes a second; 0: not measured.
	Out, In int64
	// Pressure is the percentage of time in which processes of the node wait for memory.
	Pressure float64
	// Past is what suspensions on the node came to, as a multiple of what was quoted; 0: there was none.
	Past      float64
	Age       float64 // seconds since it was granted
	Remaining float64 // seconds until its application ends; +Inf: unknown
}

// Price is what one way to get a container's resources costs.
type Price struct {
	Room  float64 // seconds until the resources are there for others; +Inf: unknown
	Lost  float64 // seconds of its work that must be done again
	Moved int64   // bytes that are paged out, and in again
	Back  float64 // seconds from its return until it works at its old rate
}

// Cost returns the sum of all seconds.
func (p Price) Cost() float64 { return p.Room + p.Lost + p.Back }

// Quote is what three ways to get a container's resources cost: to wait for its end, to suspend it, and to kill it.
type Quote struct{ Wait, Suspend, Kill Price }

// Quote prices a container. A killed one starts again, in another container: all of its work is lost.
func (f Facts) Quote() Quote {
	moved := max(f.Memory-f.Footprint, 0)
	slow := max(f.Past, 0)
	if slow == 0 {
		slow = 1
	}
	// While others wait for memory, too, the disk has two to serve. More would count twice what the node's measured rates have in them.
	slow *= 1 + min(max(f.Pressure, 0), 100)/100
	return Quote{
		Wait:    Price{Room: f.Remaining},
		Suspend: Price{Room: float64(moved) / rate(f.Out) * slow, Moved: moved, Back: float64(moved) / rate(f.In) * slow},
		Kill:    Price{Lost: max(f.Age, 0)},
	}
}

func rate(measured int64) float64 {
	if measured <= 0 {
		return unmeasured
	}
	return float64(measured)
}

// String is for the log: the three prices for people.
func (q Quote) String() string {
	wait := "nobody knows how long"
	if !math.IsInf(q.Wait.Room, 1) {
		wait = fmt.Sprintf("%.1f s", q.Wait.Room)
	}
	return fmt.Sprintf("to wait for its end takes %s, to suspend it %.1f s and %.1f s to come back (%d MB are moved), to kill it loses %.1f s of work",
		wait, q.Suspend.Room, q.Suspend.Back, q.Suspend.Moved>>20, q.Kill.Lost)
}

// Learn is Past after one more suspension took so many seconds that was quoted at so many. One counts for a quarter, so that a disk that was
// busy for a moment doesn't change much. Quotes of less than a tenth of a second teach nothing.
func Learn(past, quoted, took float64) float64 {
	if quoted < 0.1 || took < 0 {
		return past
	}
	now := min(max(took/quoted, 0.1), 10)
	if past == 0 {
		return now
	}
	return past + (now-past)/4
}
