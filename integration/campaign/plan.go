package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// perEpisode is how many faults strike one cluster, and every machineEvery-th episode is one in a virtual machine.
const (
	perEpisode   = 10
	machineEvery = 10
)

// fault is what is to happen.
type fault struct {
	Number int           `json:"number"` // from 0
	Kind   string        `json:"kind"`
	Gap    time.Duration `json:"gap"`  // from the fault before
	Hold   time.Duration `json:"hold"` // until it's undone
	Pick   uint64        `json:"-"`    // decides what the kind leaves open
}

func (f fault) String() string {
	return fmt.Sprintf("fault %d: %s for %v", f.Number, f.Kind, f.Hold.Round(time.Millisecond))
}

// episode is the faults of one cluster.
type episode struct {
	number  int
	machine bool // in a virtual machine
	faults  []fault
}

// random is what decides in an episode. It doesn't depend on the episodes before.
func random(seed uint64, episode int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(episode))) }

// plan makes the episodes with the faults from one to another. An episode is played as a whole, as the cluster needs its past.
func plan(seed uint64, from, to int) []episode {
	var out []episode
	for e := from / perEpisode; e*perEpisode < to; e++ {
		r := random(seed, e)
		ep := episode{number: e, machine: e%machineEvery == machineEvery-1}
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

// draw picks a kind with the probability that its weight gives it.
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
	panic("a number below the sum of all weights belongs to none")
}

type weighed interface{ weight() (string, int) }
