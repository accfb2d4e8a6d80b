package suspend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Level is how much of what it was granted a container has.
type Level int

// The levels, from the top of the ladder to its foot. Their numbers are those of the wire (pb.ContainerLevel).
const (
	Running Level = iota
	Shrunk
	Footprint
	Frozen
	Reclaimed
)

var levelNames = []string{
	Running: "running", Shrunk: "shrunk", Footprint: "footprint", Frozen: "frozen",
	Reclaimed: "reclaimed",
}

func (l Level) String() string {
	if l < 0 || int(l) >= len(levelNames) {
		return fmt.Sprintf("level %d", int(l))
	}
	return levelNames[l]
}

// ParseLevel returns the level of a name.
func ParseLevel(name string) (Level, error) {
	if i := slices.Index(levelNames, name); i >= 0 {
		return Level(i), nil
	}
	return Running, fmt.Errorf("level %q is not one of %s", name, strings.Join(levelNames, ", "))
}

// Still reports whether a container of this level is suspended.
func (l Level) Still() bool { return l >= Frozen }

// PB returns the level on the wire.
func (l Level) PB() pb.ContainerLevel { return pb.ContainerLevel(l) }

// The least that a suspended container is left.
const (
	FootprintMB = 64
	LeastCPU    = 0.01 // cores
)

// ShortestPeriod is the least time between two breaths: a container that breathes more often might as well run.
const ShortestPeriod = 5 * time.Second

// Order says which level a container is to have.
type Order struct {
	Level Level `json:"level"`
	// Held is the part of the node that the container takes at this level.
	Held records.Resource `json:"held"`
	// BreathEvery is how often a container that is suspended runs for a moment; 0: never.
	BreathEvery time.Duration `json:"breathEvery,omitempty"`
	// Version grows with every order of the ResourceManager.
	Version int32 `json:"version,omitempty"`
	// For names the beneficiary of the suspension, for people.
	For string `json:"for,omitempty"`
}

// Check returns why an order can't be carried out for a container of a size, or nil. reclaim is whether the node can take memory back.
func (o Order) Check(size records.Resource, reclaim bool) error {
	if o.Level < Running || o.Level > Reclaimed {
		return fmt.Errorf("%v is not one of %s", o.Level, strings.Join(levelNames, ", "))
	}
	held, has := o.Held.MemoryMB(), size.MemoryMB()
	switch {
	case o.BreathEvery < 0:
		return fmt.Errorf("it can't breathe every %v", o.BreathEvery)
	case o.Held != o.Held.Max(records.Resource{}) || !o.Held.FitsIn(size):
		return fmt.Errorf("it can't hold %v: it was granted %v", o.Held, size)
	case o.Level == Running && o.Held != size:
		return fmt.Errorf("it can't run with %v: it was granted %v, and less is level %v", o.Held, size, Shrunk)
	case held < min(has, FootprintMB):
		return fmt.Errorf("it can't hold %d MB: the least that a suspended container keeps are %d MB", held, FootprintMB)
	case held < has && !reclaim:
		return fmt.Errorf("it can't hold %d of its %d MB: this node can't take memory back", held, has)
	case held < has && o.Level == Frozen:
		return fmt.Errorf("it can't hold %d of its %d MB: a container that is %v keeps its memory, one that is %v doesn't",
			held, has, Frozen, Reclaimed)
	}
	return nil
}

// Fill completes an order that leaves to the node what the container holds (held is nil), for a container of a size.
func (o Order) Fill(held *records.Resource, size records.Resource) Order {
	o.Held = size
	switch {
	case held != nil:
		o.Held = *held
	case o.Level == Footprint, o.Level == Reclaimed:
		o.Held[records.VCores] = 0
		o.Held[records.Memory] = min(size.MemoryMB(), FootprintMB)
	case o.Level == Frozen:
		o.Held[records.VCores] = 0
	}
	return o
}

// State is how far a ladder is.
type State struct {
	Order                       // the last one; its level is what is wanted
	Have       Level            // the level that the container has
	Holds      records.Resource // what it takes of its node now
	Since      time.Time        // when it got this level
	Swapped    int64            // bytes that are paged out; 0 where the kernel doesn't say
	LastBreath time.Time        // when it last began to breathe; zero: not since it was suspended
	Breathed   time.Duration    // how long its last breath was
	Again      bool             // it is to breathe again soon: it has waited in vain for a heartbeat, or had only begun to work
	Took       time.Duration    // that the last change of its level took
	Stopped    time.Time        // when it began to be suspended, of one that does
	Ahead      bool             // its paged-out memory is still to be read: it runs, or is about to (Warm)
	Warm       bool             // it is suspended, and has its memory: room waits for its return
	Failed     bool             // the order was refused, and the container stays as it is
	Reason     string           // why it holds more than wanted, or hasn't got the wanted level
}

// Lags reports whether something is left to do to get it where it is to be. Memory that was read ahead stays as long as room waits.
func (s State) Lags() bool { return !s.Warm && (s.Have != s.Level || s.Holds != s.Held) }

// Stuck reports whether a container is suspended that is to resume: that has failed, or is under way.
func (s State) Stuck() bool { return s.Have.Still() && !s.Level.Still() }

// Squeezed reports whether a container of a size runs, or is to run, with less memory than that.
func (s State) Squeezed(size records.Resource) bool {
	return !s.Have.Still() && s.Have != Running && s.Holds.MemoryMB() < size.MemoryMB()
}
