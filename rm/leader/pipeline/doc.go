// Package pipeline collects a leader's commands in batches and takes them through the replicated log: decide ahead, commit,
// then tell.
//
// A Pipeline is a state machine without goroutines, clock or I/O. Its caller is the leader's loop, which calls it from one
// goroutine:
//
//	Enter, EnterCompletion   apply a command to the working copy and put it into the batch that is being filled
//	AfterCommit, Answer      say what happens once all commands entered so far are committed
//	Next                     yields the next batch to propose; at most MaxInFlight batches are under way
//	Settle                   takes the fate of the oldest batch under way, and runs its hooks and answers if it is committed
//	Abandon                  answers all other callers with ErrDeposed, when the leadership is over
//
// The working copy is ahead of the committed state by the batches that are being filled, wait or are under way. Their contents
// are invisible before they are committed. A batch carries the number of its leadership: the ledger ignores the batches of a
// deposed leader, even when they are committed late.
//
// A Carrier moves batches between a Pipeline and the log, with two goroutines.
package pipeline
