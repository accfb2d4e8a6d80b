// Package leader is the ResourceManager of one leadership: it turns what clients, ApplicationMasters and NodeManagers say
// into commands of the ledger and decisions of the scheduler, and answers when they are committed.
//
// One goroutine, Leader.Run, owns the state: a working copy of the ledger, the scheduler, and what is soft. Callers hand it
// operations (Leader.do); each runs in the loop, enters commands, and its caller is answered after the batch that they
// became part of is committed. Batches are proposed without waiting for the one before, so that the loop goes on deciding
// while the disk works: the working copy is ahead of the committed state by the batches under way, and nobody is told of
// what is in them until they are there. When leadership is lost, all of it is thrown away; the next leader begins with
// what is committed.
//
// What is soft (heartbeats, progress, pending asks, utilisation) lives in sessions, which node and ApplicationMaster open by
// registering with this leader.
package leader
