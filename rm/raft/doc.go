// Package raft keeps one log of commands in agreement among the ResourceManagers of a cluster: hashicorp/raft with its
// write-ahead log, snapshots, membership from configuration, and a transport that refuses members of other clusters.
//
// It knows nothing of what the commands mean; see FSM. A single ResourceManager is a group of one, by the same code.
package raft
