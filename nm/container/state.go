package container

import (
	"slices"

	"heddle/yarn/pb"
)

// State is the state of a container. Its text is the name that Hadoop's NodeManager shows.
type State int

// The states of a container.
const (
	New State = iota
	Localizing
	LocalizationFailed
	Scheduled      // it waits for room, or is being launched
	Running        // its process runs
	Reinitializing // its process runs, and the resources of another launch context are being localized
	Pausing
	Paused
	Resuming
	ReinitializingAwaitingKill // its process is ended, and one of another launch context is started
	Exited                     // its process has ended, and it is being decided what follows. Hadoop still shows RUNNING
	Relaunching                // its process failed and is started again
	Killing
	CleanedUpAfterKill
	ExitedWithSuccess
	ExitedWithFailure
	Done
)

var stateNames = [...]string{
	New:                        "NEW",
	Localizing:                 "LOCALIZING",
	LocalizationFailed:         "LOCALIZATION_FAILED",
	Scheduled:                  "SCHEDULED",
	Running:                    "RUNNING",
	Reinitializing:             "REINITIALIZING",
	Pausing:                    "PAUSING",
	Paused:                     "PAUSED",
	Resuming:                   "RESUMING",
	ReinitializingAwaitingKill: "REINITIALIZING_AWAITING_KILL",
	Exited:                     "RUNNING",
	Relaunching:                "RELAUNCHING",
	Killing:                    "KILLING",
	CleanedUpAfterKill:         "CONTAINER_CLEANEDUP_AFTER_KILL",
	ExitedWithSuccess:          "EXITED_WITH_SUCCESS",
	ExitedWithFailure:          "EXITED_WITH_FAILURE",
	Done:                       "DONE",
}

func (s State) String() string { return stateNames[s] }

// transitions is the table of what may follow a state. It is that of Hadoop's ContainerImpl, with these differences: a kill always
// leads over Killing, also from New; a recovered container goes from New to where it was; Exited stands between the end of a process
// and what is made of it; the next process after a change of the launch context starts without another Scheduled.
var transitions = [...][]State{
	New: {
		Localizing, LocalizationFailed, Killing,
		Running, Pausing, Done, // recovered
	},
	Localizing:                 {Scheduled, LocalizationFailed, Killing},
	LocalizationFailed:         {Done},
	Scheduled:                  {Running, LocalizationFailed, ExitedWithFailure, Killing},
	Running:                    {Reinitializing, Pausing, Exited, Killing},
	Reinitializing:             {Running, Pausing, ReinitializingAwaitingKill, Exited, Killing},
	Pausing:                    {Running, Reinitializing, Paused, ReinitializingAwaitingKill, Exited, Killing},
	Paused:                     {Pausing, Resuming, ReinitializingAwaitingKill, Exited, Killing},
	Resuming:                   {Running, Reinitializing, Paused, ReinitializingAwaitingKill, Exited, Killing},
	ReinitializingAwaitingKill: {Running, ExitedWithFailure, Killing},
	Exited:                     {Relaunching, ExitedWithSuccess, ExitedWithFailure, CleanedUpAfterKill},
	Relaunching:                {Running, Reinitializing, ExitedWithFailure, Killing},
	Killing:                    {CleanedUpAfterKill, ExitedWithSuccess, ExitedWithFailure},
	CleanedUpAfterKill:         {Done},
	ExitedWithSuccess:          {Done},
	ExitedWithFailure:          {Done},
	Done:                       nil,
}

// Sets of states.
var (
	// inProcess are the states with a live process that isn't being ended: it can be measured, and sent signals.
	inProcess = []State{Running, Reinitializing, Pausing, Paused, Resuming}
	// resizable are those in which a container's size can be changed.
	resizable = []State{New, Localizing, Scheduled, Running, Reinitializing, Paused}
)

// mayBecome reports whether a container in state s may become one in state to.
func (s State) mayBecome(to State) bool { return slices.Contains(transitions[s], to) }

// is reports whether s is one of these states.
func (s State) is(states ...State) bool { return slices.Contains(states, s) }

// over reports that no process will be started for the container any more.
func (s State) over() bool {
	return s.is(LocalizationFailed, CleanedUpAfterKill, ExitedWithSuccess, ExitedWithFailure, Done)
}

// describe names the state for people who are refused something because of it.
func (s State) describe() string {
	if s == Exited {
		return "has just ended"
	}
	return s.String()
}

// PB returns the state as a ContainerStatus gives it. A container that is accepted counts as running: Hadoop's
// ResourceManager takes any other state in a heartbeat for the end.
func (s State) PB() pb.ContainerState {
	if s == Done {
		return pb.ContainerState_C_COMPLETE
	}
	return pb.ContainerState_C_RUNNING
}

// SubPB returns the finer state of a ContainerStatus.
func (s State) SubPB() pb.ContainerSubState {
	switch s {
	case Running, Reinitializing, Pausing, Exited:
		return pb.ContainerSubState_CSS_RUNNING
	case Paused, Resuming:
		return pb.ContainerSubState_CSS_PAUSED
	case Done:
		return pb.ContainerSubState_CSS_DONE
	case LocalizationFailed, ExitedWithSuccess, ExitedWithFailure, Killing, CleanedUpAfterKill:
		return pb.ContainerSubState_CSS_COMPLETING
	}
	return pb.ContainerSubState_CSS_SCHEDULED
}
