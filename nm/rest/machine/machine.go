// Package machine tells the state of a node's machine: what is in use, how long processes wait for it (pressure), and the disks.
package machine

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"heddle/internal/machine"
	"heddle/nm/disks"
	"heddle/yarn/rest"
	"heddle/yarn/rest/machinestate"
)

// fresh is for how long an answer is given again: readers ask more often than anything changes.
const fresh = 2 * time.Second

// Service answers for one machine.
type Service struct {
	Root  string // of /proc; "/" as a rule
	Disks func() []disks.State
	Use   func() machine.Use

	mu      sync.Mutex
	last    machinestate.State
	at      time.Time
	looking chan struct{} // closed at the end of the look that is under way; nil: there is none
}

// Route adds the path.
func (s *Service) Route(api *rest.API) {
	api.Handle(machinestate.Path, rest.Methods{http.MethodGet: {Handle: s.answer}})
}

func (s *Service) answer(*rest.Call) (rest.Reply, error) {
	now, err := s.Look()
	if err != nil {
		return rest.Reply{}, rest.Retriable("%v", err)
	}
	return rest.OK("machine", rest.Natural, now), nil
}

// Look returns the state of the machine, of at most 2 s ago. Its error says that a disk doesn't answer in that time.
func (s *Service) Look() (machinestate.State, error) {
	late := time.After(fresh) // only one look waits for a disk that hangs
	for {
		s.mu.Lock()
		if time.Since(s.at) < fresh {
			defer s.mu.Unlock()
			return s.last, nil
		}
		if s.looking == nil {
			s.looking = make(chan struct{})
			go s.look(s.looking)
		}
		done := s.looking
		s.mu.Unlock()
		select {
		case <-done:
		case <-late:
			return machinestate.State{}, fmt.Errorf("a disk of this node doesn't answer within %v", fresh)
		}
	}
}

func (s *Service) look(done chan struct{}) {
	now := s.State()
	s.mu.Lock()
	s.last, s.at, s.looking = now, time.Now(), nil
	s.mu.Unlock()
	close(done)
}

// State looks at the machine.
func (s *Service) State() machinestate.State {
	u := s.Use()
	out := machinestate.State{
		CPU: u.CPU, Processors: u.Processors, Load: u.Load, Memory: u.Memory, TotalMemory: u.TotalMemory, Swap: u.Swap,
		TotalSwap: u.TotalSwap,
	}
	for _, resource := range []string{"cpu", "memory", "io"} {
		if p, known, err := machine.Pressure(s.Root, resource); err == nil && known {
			out.Pressure = append(out.Pressure, pressureOf(resource, p))
		}
	}
	for _, d := range s.Disks() {
		state, problem := "GOOD", ""
		switch {
		case d.Bad != "":
			state, problem = "BAD", d.Bad
		case d.Full != "":
			state, problem = "FULL", d.Full
		}
		out.Disks = append(out.Disks, machinestate.Disk{Kind: d.Kind, Path: d.Path, State: state, Problem: problem, Total: d.Space.Total, Free: min(d.Space.Free, d.Space.Total)})
	}
	return out
}

// pressureOf returns what readers are told of a resource. What the kernel doesn't say is 0.
func pressureOf(resource string, s machine.Stall) machinestate.Pressure {
	some, full := s.Some, s.Full
	return machinestate.Pressure{
		Resource: resource, Some10: max(0, some[0]), Some60: max(0, some[1]), Some300: max(0, some[2]),
		Full10: max(0, full[0]), Full60: max(0, full[1]), Full300: max(0, full[2]),
	}
}
