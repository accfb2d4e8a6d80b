// Package drive runs a scheduler together with the rounds of preemption beside it. The leader, the simulator and the replay of recorded
// events are its callers, and none of them implements policy itself.
//
// Events go in by the methods of Driver. Step returns the decisions, each with its kind and, where preemption made it, the
// reason. The caller carries decisions out:
//
//   - Allocate: it names the new container (Identify) and tells the application.
//   - Kill: it ends the container, frees it, and calls Step again until no decision is of this kind.
//   - Grow: it tells the application and the node, and puts on record what the container holds now.
//   - Suspend, Shrink, Resume: it puts on record what the container is to hold and whether it is suspended, then tells its node. If the
//     node can't (Refused) or the container resumes without an order (Return), it says so.
//   - Charge: it puts on record what the container is to hold. The node isn't told that, but whether room waits: it may read ahead what was paged out.
//   - Tell: it warns the application that it will lose the container.
//   - The others need no action; they are for display and logs.
//
// The package is pure, as rm/scheduler is: it has no I/O, no clock and no log, and the same events lead to the same decisions.
// Its owner calls it from one goroutine. Time is in ms and never goes back.
package drive
