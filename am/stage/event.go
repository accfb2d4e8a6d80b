package stage

// Event is an input of a Planner. It is one of the types below.
type Event interface{ event() }

type (
	// Tick is said about once a second, and once in the beginning.
	Tick struct{}

	// Nodes says how many nodes the cluster has.
	Nodes struct{ Count int }

	// Granted says that a container has come, for a request or for none that is known. It is to be started, or given back.
	Granted struct {
		Request RequestID
		Slot    SlotID // a new one
		Host    string
		Memory  int64
	}

	// Refused says that a request can't be served, ever. The job fails.
	Refused struct{ Err error }

	// Ready says that a slot's worker wants a task.
	Ready struct{ Slot SlotID }

	// Heard is a sign of life of a slot.
	Heard struct{ Slot SlotID }

	// Progressed says how far an attempt is: Done of Total, in a unit of its own. It may go backwards.
	Progressed struct {
		Slot        SlotID
		Attempt     AttemptID
		Phase       Phase
		Done, Total int64
	}

	// Stopped says where an attempt at a map stops: it does a part of its work only, from 0 to 1, and another attempt must do the
	// rest. Hosts are those that have the input of each new task that this makes; none say that the attempt can't be stopped.
	Stopped struct {
		Slot    SlotID
		Attempt AttemptID
		Kept    float64
		Hosts   [][]string
	}

	// Finished says that an attempt is done. OutBytes is the size of what it has made. Held says that the slot itself serves that, though nodes
	// serve outputs (Job.NodesServe): this node doesn't.
	Finished struct {
		Slot     SlotID
		Attempt  AttemptID
		OutBytes int64
		Held     bool
	}

	// Failed says that an attempt is over without success.
	Failed struct {
		Slot    SlotID
		Attempt AttemptID
		Err     error
	}

	// Gone says that a container is over. Fault says that it, or its node, is to blame; otherwise it was taken away.
	Gone struct {
		Slot  SlotID
		Fault bool
		Err   error
	}

	// Suspended says that a container is suspended, and Resumed that it continues: as the Planner wanted it, or as another did.
	// The time between doesn't count for its attempt.
	Suspended struct{ Slot SlotID }
	Resumed   struct{ Slot SlotID }

	// Unfrozen says that a container isn't suspended as the Planner wanted: the ResourceManager or the caller has refused it.
	Unfrozen struct{ Slot SlotID }

	// NodeLost says that a host is lost with the outputs that it serves. Gone tells of its containers.
	NodeLost struct{ Host string }

	// Unreachable says that neither a host's workers nor its NodeManager answer, while other hosts do. The job's slots there are given
	// up. Reachable says that it answers again.
	Unreachable struct{ Host string }
	Reachable   struct{ Host string }

	// Hinted says what the ResourceManager knows of the whole cluster: all of it that holds now.
	Hinted struct {
		Hints   Hints
		Classes map[string]int // by host, from 1; higher ones are faster; nil: it knows none
	}

	// Unfetchable says that the reduce on a slot can't get a map's output. Missing says that its host doesn't have it.
	Unfetchable struct {
		Slot    SlotID
		Map     int
		Number  int // of the attempt that made it
		Missing bool
		Err     error
	}
)

func (Tick) event()        {}
func (Nodes) event()       {}
func (Granted) event()     {}
func (Refused) event()     {}
func (Ready) event()       {}
func (Heard) event()       {}
func (Progressed) event()  {}
func (Stopped) event()     {}
func (Finished) event()    {}
func (Failed) event()      {}
func (Gone) event()        {}
func (Suspended) event()   {}
func (Resumed) event()     {}
func (Unfrozen) event()    {}
func (NodeLost) event()    {}
func (Unreachable) event() {}
func (Reachable) event()   {}
func (Hinted) event()      {}
func (Unfetchable) event() {}
