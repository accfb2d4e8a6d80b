package application

// State is the state of an application on this node; its text is the name that Hadoop's NodeManager shows.
type State int

// The states of an application.
const (
	New State = iota
	Initing
	Running
	FinishingContainersWait
	ResourcesCleaningUp
	Finished
)

var stateNames = [...]string{
	New:                     "NEW",
	Initing:                 "INITING",
	Running:                 "RUNNING",
	FinishingContainersWait: "FINISHING_CONTAINERS_WAIT",
	ResourcesCleaningUp:     "APPLICATION_RESOURCES_CLEANINGUP",
	Finished:                "FINISHED",
}

func (s State) String() string { return stateNames[s] }

// ParseState reads the name of an application's state.
func ParseState(name string) (State, bool) {
	for s, n := range stateNames {
		if n == name {
			return State(s), true
		}
	}
	return 0, false
}
