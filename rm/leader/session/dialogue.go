package session

// Dialogue is the calls of one peer, which carry the id of the reply that the peer has received last. The caller holds the session's
// lock throughout a call. The zero value is a peer that hasn't registered.
type Dialogue[Reply any] struct {
	registered bool
	responseID int32 // of the last reply
	last       Reply
}

// Verdict is what becomes of a call.
type Verdict uint8

// Verdicts.
const (
	New          Verdict = iota // it is the next one
	Repeated                    // its reply was lost: the last one is to be given again
	OutOfOrder                  // it belongs to no reply that the peer can have received last
	Unregistered                // the peer has to register first
)

// Register begins the dialogue again: the peer's next call has the response id 0.
func (d *Dialogue[Reply]) Register() {
	var none Reply
	d.registered, d.responseID, d.last = true, 0, none
}

// Drop makes the peer register again.
func (d *Dialogue[Reply]) Drop() { d.registered = false }

// Registered reports whether the peer has registered.
func (d *Dialogue[Reply]) Registered() bool { return d.registered }

// ResponseID returns the id of the last reply, which the next call must have.
func (d *Dialogue[Reply]) ResponseID() int32 { return d.responseID }

// Judge says what becomes of a call with a response id.
func (d *Dialogue[Reply]) Judge(responseID int32) Verdict {
	switch {
	case !d.registered:
		return Unregistered
	case responseID == d.responseID:
		return New
	case NextID(responseID) == d.responseID:
		return Repeated
	}
	return OutOfOrder
}

// Last returns the last reply.
func (d *Dialogue[Reply]) Last() Reply { return d.last }

// Answered records the reply to a new call, whose id is NextID of the call's.
func (d *Dialogue[Reply]) Answered(r Reply) { d.responseID, d.last = NextID(d.responseID), r }

// NextID returns the id of the reply that follows one. Ids wrap to 0 (Hadoop: AMRMClientUtils.getNextResponseId).
func NextID(responseID int32) int32 { return (responseID + 1) & maxID }

const maxID = 1<<31 - 1
