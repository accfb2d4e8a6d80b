package stage

// Action is an output of a Planner, which its caller carries out. It is one of the types below.
type Action interface{ action() }

type (
	// Want asks for a container. Hosts is where it is wanted; Strict says that it is of no use elsewhere.
	Want struct {
		Request RequestID
		Task    TaskID
		Hosts   []string
		Strict  bool
	}

	// Withdraw takes a request back. If its container comes nevertheless, it may be told of.
	Withdraw struct{ Request RequestID }

	// Start has a container's worker started.
	Start struct{ Slot SlotID }

	// GiveBack gives a container up. If it was started and isn't Lost, its worker is waiting for a task and may be told to go.
	// Nothing it says afterwards is taken.
	GiveBack struct {
		Slot SlotID
		Lost bool // it doesn't answer, or is suspended
		Room bool // it has outputs, and what waits may need its room
	}

	// Launch begins an attempt in a slot.
	Launch struct {
		Slot    SlotID
		Attempt AttemptID
		Copy    bool // another attempt of the task runs
	}

	// Cancel ends an attempt that runs. Its slot says Ready when it wants another one.
	Cancel struct {
		Slot    SlotID
		Attempt AttemptID
		Why     Reason
	}

	// Stop tells an attempt at a map to stop when its progress is At, so that Parts other tasks do the rest of its input. The answer is
	// Stopped.
	Stop struct {
		Slot    SlotID
		Attempt AttemptID
		At      float64
		Parts   int
	}

	// Divide says that an attempt does only the part of its input that it has told. The rest is the input of new tasks, Parts of
	// them from First on, in the order of Stopped.Hosts.
	Divide struct {
		Attempt      AttemptID
		First, Parts int
	}

	// Freeze suspends a slot with its attempt, if the ResourceManager and the caller allow it. The freed room is for a request,
	// or for the next one if that is 0. Suspended says that it is suspended. If it can't, Unfrozen says so, or nothing comes.
	Freeze struct {
		Slot    SlotID
		Attempt AttemptID
		For     RequestID
	}

	// Thaw resumes a slot that was to be suspended, as soon as there is room for it. Resumed says so.
	Thaw struct {
		Slot    SlotID
		Attempt AttemptID
	}

	// Accept makes the output of an attempt the task's.
	Accept struct {
		Slot    SlotID
		Attempt AttemptID
	}

	// Revoke says that an output that was accepted is there no more, and is made again.
	Revoke struct{ Attempt AttemptID }

	// Fault tells of an attempt that has failed.
	Fault struct{ *AttemptError }

	// Avoid has no more containers granted on a host that has failed so often, or that doesn't answer if Failures is 0.
	Avoid struct {
		Host     string
		Failures int
	}

	// Forgive takes hosts into use again that were avoided: no others give containers, or, with Answers, this one answers again.
	Forgive struct {
		Hosts   []string
		Answers bool
	}

	// End says that the job is over. It comes once.
	End struct{ Err error }
)

// Reason is the reason of a cancellation.
type Reason uint8

// Reasons.
const (
	Overtaken Reason = iota // another attempt has finished
	InTheWay                // a reduce that waits for a map takes its place
)

func (Want) action()     {}
func (Withdraw) action() {}
func (Start) action()    {}
func (GiveBack) action() {}
func (Launch) action()   {}
func (Cancel) action()   {}
func (Stop) action()     {}
func (Divide) action()   {}
func (Freeze) action()   {}
func (Thaw) action()     {}
func (Accept) action()   {}
func (Revoke) action()   {}
func (Fault) action()    {}
func (Avoid) action()    {}
func (Forgive) action()  {}
func (End) action()      {}
