package hybrid

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/am/sched"
	"heddle/nm/probe"
)

// mode is a system of the papers.
type mode struct {
	sched   sched.Config
	node    probe.Config
	central placement // of long jobs
	all     bool      // the central scheduler places short jobs, too
	whole   bool      // there is no short partition
	steals  stealing
	perfect bool // probes avoid all long work, as if bitmaps were always new
}

type placement uint8

const (
	nobody  placement = iota // long jobs probe like short ones
	current                  // a central scheduler knows what it sent, at once
	late                     // a central scheduler knows what heartbeats said, every 8 s
)

type stealing uint8

const (
	never stealing = iota
	behindLong
	anyShort
)

// bound is how often a probe may be overtaken in Eagle, in multiples of its estimate.
const bound = 5

var (
	twice    = sched.Config{Ratio: 2, Least: 2, Repeat: true}
	atLeast  = sched.Config{Ratio: 2, Least: 20, Repeat: true}
	byBitmap = sched.Config{Ratio: 2, Least: 20, Repeat: true, Rounds: 2}
)

// modes are the systems by name: Sparrow, Hawk, Eagle, and what lies between them.
var modes = map[string]mode{
	"sparrow":        {sched: twice, whole: true},
	"hawk":           {sched: twice, central: current, steals: behindLong},
	"hawk-nosteal":   {sched: twice, central: current},
	"hawk-randsteal": {sched: twice, central: current, steals: anyShort},
	"eagle": {
		sched: byBitmap, central: current,
		node: probe.Config{Order: probe.Shortest, Bound: bound, Sticky: true, AvoidLong: true},
	},
	"eagle-sss":     {sched: byBitmap, central: current, node: probe.Config{AvoidLong: true}},
	"eagle-sss-sbp": {sched: byBitmap, central: current, node: probe.Config{AvoidLong: true, Sticky: true}},
	"idealeagle":    {sched: atLeast, central: current, node: probe.Config{Sticky: true}, perfect: true},
	"clwl":          {sched: twice, central: current, all: true},
	"dlwl-srpt":     {sched: twice, central: late, all: true, node: probe.Config{Order: probe.Shortest, Bound: bound, Strict: true}},
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
