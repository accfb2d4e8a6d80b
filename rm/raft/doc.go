// Package raft keeps one log of commands in agreement among the ResourceManagers of a cluster. It consists of hashicorp/raft with its
// write-ahead log, snapshots, membership from configuration, and a transport that refuses members of other clusters.
//
// Open starts a Node. Propose appends an entry; committed entries go to the FSM. Terms delivers a context for each term that this member
// leads. Entries are opaque to the package. A single ResourceManager is a group of one, with the same code.
//
// It is large because log, greetings, membership and what a folder has forgotten all decide who may vote, and have to agree.
//
// rm is the only caller. docs/decisions/raft-groups.md says how groups are formed and changed.
package raft
