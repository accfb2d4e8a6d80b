package partition

import (
	"fmt"
	"strings"
	"time"
)

// Rules are the rules that nodes and schedulers of short tasks follow.
type Rules struct {
	Probes    float64 // for a task
	Least     int     // for a job
	Steal     bool    // nodes without work take short probes from behind long work
	AvoidLong bool    // nodes with long work reject probes, with the bitmap of such nodes (succinct state sharing)
	Rounds    int     // rounds by bitmap before the short partition is used
	Sticky    bool    // a node that ended a task of a job asks for its next one (sticky batch probing)
	Shortest  bool    // the job with least work left is first (SRPT)
	Bound     float64 // estimates that may pass a probe, in multiples of its own
}

// Settings are how a cluster is divided.
type Settings struct {
	Cutoff time.Duration // tasks whose estimate is longer are long
	Short  float64       // percent of the nodes that are closed to long work
	Rules  Rules
	Dice   *Dice // nil: the division is fixed
}

// Dice is how the short partition grows.
type Dice struct {
	Most        float64       // percent of the nodes that are closed to new long work at most
	Longest     time.Duration // mean wait of short tasks (W) at which that is reached
	Window      time.Duration
	Sizing      Model
	Preemption  Model
	Multiplier  float64       // requests for each node of the short partition at the longest wait
	Times       int           // suspensions of a task at most
	Timeout     time.Duration // of a suspension
	NoSizing    bool
	NoRequests  bool
	SuspendCost time.Duration // what a suspension takes, for simulations
	ResumeCost  time.Duration
}

// Hawk returns the settings of Hawk.
func Hawk(cutoff time.Duration, short float64) Settings {
	return Settings{Cutoff: cutoff, Short: short, Rules: Rules{Probes: 2, Least: 2, Steal: true}}
}

// Eagle returns the settings of Eagle.
func Eagle(cutoff time.Duration, short float64) Settings {
	return Settings{Cutoff: cutoff, Short: short, Rules: Rules{
		Probes: 2, Least: 20, AvoidLong: true, Rounds: 2, Sticky: true, Shortest: true, Bound: 5,
	}}
}

// Study returns Dice as its authors measured it: room for 8 % more nodes, linear sizing, requests by the square. Long work keeps 1 % of the
// nodes, or what a short partition that is larger leaves to it.
func Study(short float64) *Dice {
	return &Dice{
		Most: max(short, min(short+8, 99)), Longest: 1000 * time.Second, Window: time.Minute, Sizing: Linear, Preemption: Square, Multiplier: 1,
		Times: 2, Timeout: 100 * time.Second, SuspendCost: 3 * time.Second, ResumeCost: 10 * time.Second,
	}
}

// Check says what is wrong with settings.
func (s *Settings) Check() error {
	switch d := s.Dice; {
	case s.Cutoff < 0:
		return fmt.Errorf("the cutoff between short and long tasks is %v: it can't be negative", s.Cutoff)
	case !(s.Short >= 0):
		return fmt.Errorf("a short partition of %g percent: give 0 or more, and less than 100", s.Short)
	case s.Short >= 100:
		return fmt.Errorf("a short partition of %g percent: long work needs some of the nodes, so give less than 100", s.Short)
	case d == nil:
		return nil
	case !(d.Most >= s.Short && d.Most < 100):
		return fmt.Errorf("the short partition may grow to %g percent: give at least its size of %g, and less than 100", d.Most, s.Short)
	case d.Longest <= 0 || d.Window <= 0:
		return fmt.Errorf("the longest wait of %v and the window of %v must be above 0", d.Longest, d.Window)
	case !(d.Multiplier >= 0 && d.Multiplier <= 1000):
		return fmt.Errorf("%g requests for each node of the short partition: give 0 to 1000", d.Multiplier)
	case d.Times < 0 || d.Timeout < 0:
		return fmt.Errorf("%d suspensions of a task, for %v: neither can be negative", d.Times, d.Timeout)
	}
	return nil
}

// Long reports whether tasks with an estimate are long.
func (s *Settings) Long(estimate time.Duration) bool { return estimate > s.Cutoff }

// Size returns how many of so many nodes are the short partition.
func (s *Settings) Size(nodes int) int { return part(s.Short, nodes) }

// part rounds down.
func part(percent float64, nodes int) int {
	return int(percent * float64(nodes) / 100)
}

// Tag begins the application tag that says how long a task takes in the mean, as in heddle-task-time:80s.
const Tag = "heddle-task-time:"

// Property is the scheduling property of a submission that says the same, with a value such as 80s.
const Property = "heddle-task-time"

// Estimate returns the mean task time of an application: what it said when it was submitted, else what a tag says, else what its queue is
// configured for. It reports false if the time is unknown; such work is long. An unreadable value is an error.
func Estimate(submitted string, tags []string, queue time.Duration) (time.Duration, bool, error) {
	if submitted != "" {
		d, err := time.ParseDuration(submitted)
		if err != nil || d <= 0 {
			return 0, false, fmt.Errorf("the scheduling property %s is %.100q, which isn't a time: write it as 80s", Property, submitted)
		}
		return d, true, nil
	}
	for _, tag := range tags {
		text, ok := strings.CutPrefix(strings.ToLower(tag), Tag)
		if !ok {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, false, fmt.Errorf("the tag %q doesn't say a time: write it as %s80s", tag, Tag)
		}
		return d, true, nil
	}
	return queue, queue > 0, nil
}
