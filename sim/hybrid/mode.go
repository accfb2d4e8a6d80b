package hybrid

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/am/sched"
	"heddle/nm/probe"
	"heddle/rm/scheduler/policy/partition"
)

// mode is a system of the papers.
type mode struct {
	sched   sched.Config
	node    probe.Config
	central knowledge // of long jobs
	all     bool      // the central scheduler places short jobs, too
	whole   bool      // there is no short partition
	steals  stealing
	perfect bool // probes avoid all long work, as if bitmaps were always new
}

type knowledge uint8

const (
	nobody  knowledge = iota // long jobs probe like short ones
	current                  // a central scheduler knows what it sent, at once
	late                     // a central scheduler knows what heartbeats said, every 8 s
)

type stealing uint8

const (
	never stealing = iota
	behindLong
	anyShort
)

var (
	twice   = sched.Config{Ratio: 2, Least: 2, Repeat: true}
	atLeast = sched.Config{Ratio: 2, Least: 20, Repeat: true}
	hawk    = of(partition.Hawk(0, 0).Rules)
	eagle   = of(partition.Eagle(0, 0).Rules)
)

// of returns a mode with a central scheduler of long jobs, by the rules of short ones.
func of(r partition.Rules) mode {
	m := mode{
		sched:   sched.Config{Ratio: r.Probes, Least: r.Least, Repeat: true, Rounds: r.Rounds},
		node:    probe.Config{Bound: r.Bound, Sticky: r.Sticky, AvoidLong: r.AvoidLong},
		central: current,
	}
	if r.Shortest {
		m.node.Ranking = probe.Shortest
	}
	if r.Steal {
		m.steals = behindLong
	}
	return m
}

// but returns a mode with a change.
func (m mode) but(change func(*mode)) mode {
	change(&m)
	return m
}

// modes are the systems by name: Sparrow, Hawk, Eagle, and what lies between them.
var modes = map[string]mode{
	"sparrow":        {sched: twice, whole: true},
	"hawk":           hawk,
	"hawk-nosteal":   hawk.but(func(m *mode) { m.steals = never }),
	"hawk-randsteal": hawk.but(func(m *mode) { m.steals = anyShort }),
	"eagle":          eagle,
	"eagle-sss":      eagle.but(func(m *mode) { m.node.Ranking, m.node.Sticky = probe.FIFO, false }),
	"eagle-sss-sbp":  eagle.but(func(m *mode) { m.node.Ranking = probe.FIFO }),
	"idealeagle":     {sched: atLeast, central: current, node: probe.Config{Sticky: true}, perfect: true},
	"clwl":           {sched: twice, central: current, all: true},
	"dlwl-srpt":      {sched: twice, central: late, all: true, node: probe.Config{Ranking: probe.Shortest, Bound: eagle.node.Bound, Strict: true}},
}

// Modes lists the systems.
func Modes() []string { return slices.Sorted(maps.Keys(modes)) }

func modeOf(name string) (mode, error) {
	m, ok := modes[name]
	if !ok {
		return m, fmt.Errorf("there is no mode %q; use one of %s", name, strings.Join(Modes(), ", "))
	}
	m.sched.Sticky = m.node.Sticky
	return m, nil
}
