// Package leader is the ResourceManager of one leadership. It turns calls of clients, ApplicationMasters and NodeManagers into commands of
// the ledger and decisions of the scheduler, and answers when they are committed.
//
// One goroutine (package loop) owns the state: a working copy of the ledger, the scheduler, and what is soft. An exported method hands the
// loop an operation, which enters commands (package pipeline). The caller is answered when the batch that they became part of is committed.
// The working copy is ahead of the committed state by the batches under way, and reveals nothing of them until they are committed. When
// leadership is lost, all of it is thrown away; the next leader begins with what is committed.
//
// It is large because applications, attempts, containers, nodes and the dialogues with their owners change together, in one operation of
// the loop, and are told together. Each file has one of them. Parts that need less than that are packages below, each of which declares the
// few methods that it needs of the loop, of the scheduler and of other parts.
//
// Soft state (heartbeats, progress, pending asks, utilisation) lives in sessions, which nodes and ApplicationMasters open by
// registering with this leader.
package leader
