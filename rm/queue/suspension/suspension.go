// Package suspension says how preemption takes resources from the containers of queues: it ends them, as YARN does, or suspends them. It
// reads the keys heddle.scheduler.preemption.* and checks the settings of single queues. Package queue lets queues inherit them.
package suspension

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/conf"
	"heddle/yarn/records"
)

// Means is how preemption takes resources from the containers of a queue.
type Means uint8

// Means of preemption.
const (
	Kill      Means = iota // it ends them, as YARN does
	Graceful               // it takes a step from many containers, until there is enough (BIG-C's graceful preemption)
	Immediate              // it takes everything from one container after the other (BIG-C's immediate preemption)
	Spare                  // it takes nothing from them
)

var means = [...]string{Kill: "kill", Graceful: "suspend", Immediate: "suspend-immediate", Spare: "none"}

func (m Means) String() string { return means[m] }

// Suspends reports whether containers are suspended.
func (m Means) Suspends() bool { return m == Graceful || m == Immediate }

// Settings of single queues: how preemption takes from them, and from their containers on nodes that can't suspend. Fair queues have
// elements of these names.
const (
	MeansKey  = "heddle-preemption"
	UnableKey = "heddle-preemption-unable"
)

// Parse returns the means that a word is, as the value of a setting. An error names the words that there are.
func Parse(key, word string) (Means, error) {
	i := slices.Index(means[:], word)
	switch {
	case key == UnableKey && (i < 0 || Means(i).Suspends()):
		return Spare, fmt.Errorf("it must be one of %v, %v", Kill, Spare)
	case i < 0:
		return Kill, fmt.Errorf("it must be one of %s", strings.Join(means[:], ", "))
	}
	return Means(i), nil
}

// Ranking is the order in which containers are suspended.
type Ranking uint8

// Orders of suspension.
const (
	ByRemaining     Ranking = iota // those of the application that needs longest until it ends (BIG-C)
	ByLeastAttained                // those that began last
	ByCost                         // those whose memory is moved fastest for what that frees
)

var rankings = [...]string{ByRemaining: "remaining", ByLeastAttained: "least-attained", ByCost: "cost"}

func (o Ranking) String() string { return rankings[o] }

// Settings are those of all queues.
type Settings struct {
	Means Means // of queues that say nothing else
	// Unable is the means for containers on nodes that can't suspend: Kill or Spare.
	Unable     Means
	Ranking    Ranking
	MinimumAge time.Duration    // younger containers are spared
	Step       records.Resource // that Graceful takes from a container at a time
	// Tries is how many times in a row a suspended container must find room on its node before it resumes, D in BIG-C.
	Tries   int
	Most    int           // suspensions of one container; 0 is no limit
	Longest time.Duration // that one container is suspended in all; 0 is no limit
	// Periodic: requests that find no room wait for the next of YARN's rounds, as in BIG-C; else a round starts at once.
	Periodic bool
	// Footprint leaves a suspended container 1 % of a core, as BIG-C does; else it is suspended.
	Footprint bool
}

// Default returns the settings of a configuration that sets nothing.
func Default() Settings {
	return Settings{Unable: Spare, Step: records.NewResource(4096, 2), Tries: 3, Longest: time.Hour}
}

// Of reads the settings. Their values have been checked where the configuration was.
func Of(c *conf.Config) Settings {
	const prefix = "heddle.scheduler.preemption"
	m, _ := Parse(MeansKey, c.Text(prefix))
	unable, _ := Parse(UnableKey, c.Text(prefix+".unable"))
	order := max(slices.Index(rankings[:], c.Text(prefix+".order")), 0)
	unit := records.NewResource(int64(c.Int(prefix+".unit.memory-mb")), int64(c.Int(prefix+".unit.vcores")))
	return Settings{
		Means: m, Unable: unable, Ranking: Ranking(order), MinimumAge: c.Duration(prefix + ".min-runtime-ms"),
		Step: unit.Times(int64(c.Int(prefix + ".step"))), Tries: c.Int(prefix + ".resume-tries"),
		Most: c.Int(prefix + ".max-suspensions"), Longest: c.Duration(prefix + ".max-suspended-ms"),
		Periodic: !c.Bool(prefix + ".on-demand"), Footprint: c.Text(prefix+".level") == "footprint",
	}
}
