// Package nodespeed tells the scheduler how fast nodes are: as the configuration says, else as ApplicationMasters have measured.
package nodespeed

import (
	"path"

	"heddle/conf"
	"heddle/rm/leader/speed"
	"heddle/rm/scheduler/eventlog"
	"heddle/rm/scheduler/survey"
)

// Scheduler hears how fast nodes are.
type Scheduler interface {
	// Apply carries out an event (eventlog.Recorder.Apply).
	Apply(*eventlog.Event) bool
}

// Speeds are those of nodes. Its methods are for the leader's loop.
type Speeds struct {
	configured []conf.NodeSpeed
	learned    *speed.Speeds
	told       int64          // version of what was learned
	nodes      map[string]int // by host
	matched    []bool         // by setting: a node that has joined
	looked     bool           // Unmatched was asked
}

// New returns Speeds for which settings go before what was learned, also for the levels of eSplash.
func New(configured []conf.NodeSpeed, learned *speed.Speeds) *Speeds {
	s := &Speeds{configured: configured, learned: learned, nodes: map[string]int{}, matched: make([]bool, len(configured))}
	if len(configured) > 0 {
		learned.Fix(s.setting)
	}
	return s
}

// setting returns the configured speed of a host; 0 if there is none.
func (s *Speeds) setting(host string) float64 {
	for i, x := range s.configured {
		if ok, _ := path.Match(x.Pattern, host); ok { // the configuration was checked
			s.matched[i] = true
			return x.Speed
		}
	}
	return 0
}

// Unmatched returns the patterns of settings that no node has matched yet, once: they may be misspelt. Later it returns none.
func (s *Speeds) Unmatched() (patterns []string) {
	for i, x := range s.configured {
		if !s.looked && !s.matched[i] {
			patterns = append(patterns, x.Pattern)
		}
	}
	s.looked = true
	return patterns
}

// note tells a scheduler how fast the nodes of a host run tasks of a type; 0: unknown.
func note(to Scheduler, host string, t survey.Task, speed float64) {
	to.Apply(&eventlog.Event{Op: eventlog.NoteSpeed, Host: host, Task: t, Part: speed})
}

// Joined enters a node of a host.
func (s *Speeds) Joined(to Scheduler, host string) {
	s.learned.Joined(host)
	if s.nodes[host]++; s.nodes[host] > 1 {
		return
	}
	if fixed := s.setting(host); fixed > 0 {
		for t := range survey.Tasks {
			note(to, host, t, fixed)
		}
	}
}

// Left forgets a node of a host.
func (s *Speeds) Left(to Scheduler, host string) {
	s.learned.Left(host)
	if s.nodes[host]--; s.nodes[host] > 0 {
		return
	}
	delete(s.nodes, host)
	for t := range survey.Tasks {
		note(to, host, t, 0)
	}
}

// Tell tells a scheduler what was learned since the last call.
func (s *Speeds) Tell(to Scheduler) {
	var factors []speed.Factor
	factors, s.told = s.learned.Factors(s.told)
	for _, f := range factors {
		if s.nodes[f.Host] > 0 && s.setting(f.Host) == 0 {
			note(to, f.Host, survey.Task(f.Type), f.Speed)
		}
	}
}
