package campaign

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// perEpisode is the number of faults in one cluster. Every machineEvery-th episode runs in a virtual machine; every witnessEvery-th has two
// ResourceManagers and a witness instead of three ResourceManagers.
const (
	perEpisode   = 10
	machineEvery = 10
	witnessEvery = 3
)

// fault is a planned fault.
type fault struct {
	Number int           `json:"number"` // from 0
	Kind   string        `json:"kind"`
	Gap    time.Duration `json:"gap"`  // time since the previous fault
	Hold   time.Duration `json:"hold"` // time until it is undone
	Pick   uint64        `json:"-"`    // random choice within the kind
}

func (f fault) String() string {
	return fmt.Sprintf("fault %d: %s for %v", f.Number, f.Kind, f.Hold.Round(time.Millisecond))
}

// episode has the faults of one cluster.
type episode struct {
	number  int
	machine bool // runs in a virtual machine
	witness bool // two ResourceManagers and a witness
	faults  []fault
}

// random returns the source of random choices in an episode. It doesn't depend on earlier episodes.
func random(seed uint64, episode int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(episode))) }

// plan returns the episodes with the faults from one number to another. An episode is always whole, because the
// cluster's past matters.
func plan(seed uint64, from, to int) []episode {
	var out []episode
	for e := from / perEpisode; e*perEpisode < to; e++ {
		r := random(seed, e)
		ep := episode{number: e, machine: e%machineEvery == machineEvery-1, witness: e%witnessEvery == witnessEvery-1}
		next := func() string { return draw(r, kinds) }
		if ep.machine {
			next = func() string { return draw(r, machineKinds) }
		}
		for i := range min(perEpisode, to-e*perEpisode) {
			ep.faults = append(ep.faults, fault{
				Number: e*perEpisode + i, Kind: next(), Pick: r.Uint64(),
				Gap: span(r, 100*time.Millisecond, 2*time.Second), Hold: span(r, 200*time.Millisecond, 6*time.Second),
			})
		}
		out = append(out, ep)
	}
	return out
}

func span(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// draw picks a kind with a probability in proportion to its weight.
func draw[K weighed](r *rand.Rand, list []K) string {
	sum := 0
	for _, k := range list {
		_, w := k.weight()
		sum += w
	}
	at := r.IntN(sum)
	for _, k := range list {
		name, w := k.weight()
		if at -= w; at < 0 {
			return name
		}
	}
	panic("no kind for a number below the sum of all weights")
}

type weighed interface{ weight() (string, int) }
