// Package loop runs the operations of one leadership one after the other, in one goroutine.
//
// Callers hand operations to Do. The loop runs each, then the hook AfterEach, and answers the caller when everything that was
// entered by then is committed (package pipeline). Meanwhile it continues with the next operations: it waits for the log only when
// full batches pile up. Once a second it calls the hook Tick. AfterEach is also called without an operation when it is due earlier (NextWake).
//
// State that only the loop changes (the working copy of the ledger, the scheduler, soft state) needs no locks. Calls that block,
// such as those to nodes, run beside the loop, by Go, and come back through Do.
//
// All time comes from the loop's clock, which doesn't jump when the clock on the wall does. After a standstill of the process dates (Date) jump forward,
// and durations (Now) forgive.
package loop
