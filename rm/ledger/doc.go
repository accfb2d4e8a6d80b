// Package ledger is the replicated state of a Heddle cluster: applications, attempts, containers, nodes and master keys.
//
// It is pure: State.Apply takes a batch of commands (ledgerpb.Batch, one entry of the raft log) and changes the state,
// without I/O, clocks or randomness; the same batches give the same state on every member and after every restart. Time
// is the batch's own. What is soft (heartbeats, progress, pending asks, utilisation) is not here: it comes back with the
// next heartbeat.
//
// A leader keeps two States: the committed one, which every member has and which alone is shown to anybody, and a
// working copy that is ahead of it by the batches under way. Commands and what they hold are never changed after they
// were made, so both may share them.
package ledger
