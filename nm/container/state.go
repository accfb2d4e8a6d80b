package container

import (
	"slices"

	"heddle/yarn/pb"
)

// State is the state of a container; its text is the name that Hadoop's NodeManager shows.
type State int

// The states of a container.
const (
	New State = iota
	Localizing
	LocalizationFailed
	Scheduled
	Running
	Relaunching
	Reinitializing
	ReinitializingAwaitingKill
	ExitedWithSuccess
	ExitedWithFailure
	Killing
	CleanedUpAfterKill
	CleaningUpResources
	Pausing
	Paused
	Resuming
	Done
)

var stateNames = [...]string{
	New:                        "NEW",
	Localizing:                 "LOCALIZING",
	LocalizationFailed:         "LOCALIZATION_FAILED",
	Scheduled:                  "SCHEDULED",
	Running:                    "RUNNING",
	Relaunching:                "RELAUNCHING",
	Reinitializing:             "REINITIALIZING",
	ReinitializingAwaitingKill: "REINITIALIZING_AWAITING_KILL",
	ExitedWithSuccess:          "EXITED_WITH_SUCCESS",
	ExitedWithFailure:          "EXITED_WITH_FAILURE",
	Killing:                    "KILLING",
	CleanedUpAfterKill:         "CONTAINER_CLEANEDUP_AFTER_KILL",
	CleaningUpResources:        "CONTAINER_RESOURCES_CLEANINGUP",
	Pausing:                    "PAUSING",
	Paused:                     "PAUSED",
	Resuming:                   "RESUMING",
	Done:                       "DONE",
}

func (s State) String() string { return stateNames[s] }

// ends are what any process may come to.
var ends = []State{Killing, ExitedWithSuccess, ExitedWithFailure, CleanedUpAfterKill, Relaunching, ReinitializingAwaitingKill}

// nextStates has what may follow a state. Nothing follows the last.
var nextStates = [...][]State{
	New:                        {Localizing, Running, Pausing, LocalizationFailed, Killing},
	Localizing:                 {Scheduled, LocalizationFailed, Killing},
	LocalizationFailed:         {Done},
	Scheduled:                  {Running, LocalizationFailed, ExitedWithFailure, Killing},
	Running:                    append([]State{Pausing}, ends...),
	Pausing:                    append([]State{Running, Paused}, ends...),
	Paused:                     append([]State{Pausing, Resuming}, ends...),
	Resuming:                   append([]State{Running, Paused}, ends...),
	Relaunching:                {Running, ExitedWithFailure, Killing},
	ReinitializingAwaitingKill: {Running, ExitedWithFailure, Killing},
	Killing:                    {CleanedUpAfterKill, ExitedWithSuccess, ExitedWithFailure},
	ExitedWithSuccess:          {Done},
	ExitedWithFailure:          {Done},
	CleanedUpAfterKill:         {Done},
	Done:                       nil,
}

// mayBecome reports whether a container in state s may become one in state to.
func (s State) mayBecome(to State) bool { return slices.Contains(nextStates[s], to) }

// PB is the state as a ContainerStatus gives it. A container that is accepted counts as running: Hadoop's
// ResourceManager takes any other state in a heartbeat for the end.
func (s State) PB() pb.ContainerState {
	if s == Done {
		return pb.ContainerState_C_COMPLETE
	}
	return pb.ContainerState_C_RUNNING
}

// SubPB is the finer state of a ContainerStatus.
func (s State) SubPB() pb.ContainerSubState {
	switch s {
	case Running, Reinitializing, Pausing:
		return pb.ContainerSubState_CSS_RUNNING
	case Paused, Resuming:
		return pb.ContainerSubState_CSS_PAUSED
	case Done:
		return pb.ContainerSubState_CSS_DONE
	case LocalizationFailed, ExitedWithSuccess, ExitedWithFailure, Killing, CleanedUpAfterKill, CleaningUpResources:
		return pb.ContainerSubState_CSS_COMPLETING
	}
	return pb.ContainerSubState_CSS_SCHEDULED
}

// AppState is the state of an application on this node; its text is the name that Hadoop's NodeManager shows.
type AppState int

// The states of an application.
const (
	AppNew AppState = iota
	AppIniting
	AppRunning
	AppFinishingContainersWait
	AppResourcesCleaningUp
	AppFinished
)

var appStateNames = [...]string{
	AppNew:                     "NEW",
	AppIniting:                 "INITING",
	AppRunning:                 "RUNNING",
	AppFinishingContainersWait: "FINISHING_CONTAINERS_WAIT",
	AppResourcesCleaningUp:     "APPLICATION_RESOURCES_CLEANINGUP",
	AppFinished:                "FINISHED",
}

func (s AppState) String() string { return appStateNames[s] }

// ParseAppState reads the name of an application's state.
func ParseAppState(name string) (AppState, bool) {
	for s, n := range appStateNames {
		if n == name {
			return AppState(s), true
		}
	}
	return 0, false
}
