// Package witness is the third voter of a group with two full members. It stores which entries exist (their indexes and terms), its own term and
// its vote, but no entry's data. It never stands for election.
//
// State holds what a witness has promised, and decides about raft's requests. It is pure: a request makes a new State. File keeps a State on disk. A
// Participant answers requests: it writes the new State before it answers. The leader's side is package feed.
//
// docs/decisions/witness.md argues why this is safe.
package witness
