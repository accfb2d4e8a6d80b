// Package session holds what a leader keeps of the peers that have registered with it, ApplicationMasters and NodeManagers:
//
//	Registry   the sessions, found by the ids of peers
//	Dialogue   calls and replies: their ids, which call is a repetition, and who must register again (YARN's resync)
//	Seen       when a peer was last heard of
//	MasterBox  committed updates that an ApplicationMaster hasn't received or acknowledged yet
//	NodeBox    committed orders that a node hasn't received yet
//	Bell       wakes a call that waits for updates
//
// Sessions are soft state: they end with the leadership, and peers open others with the next leader.
package session
