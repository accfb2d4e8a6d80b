// Package ledger is the replicated state of a Heddle cluster: applications, attempts, containers, nodes and master keys.
//
// It is pure: State.Apply takes a batch of commands (ledgerpb.Batch, one entry of the raft log) and changes the state,
// without I/O, clocks or randomness. The same batches give the same state on every member and after every restart. Time
// is the batch's own. Soft state (heartbeats, progress, pending asks, utilisation) is not here: it comes back with the
// next heartbeat.
//
// A leader keeps two States. The committed one is the same on every member, and the only one that is shown to callers. The
// working copy is ahead of it by the batches under way. A command and its contents never change after it was made, so
// both States may share them.
//
// A snapshot is written while the state continues: Freeze keeps it as it is at a moment, and costs little.
//
// Callers: rm applies the log's entries and reads the committed state; rm/leader makes commands and applies them to its
// working copy; rm/view renders the state.
package ledger
