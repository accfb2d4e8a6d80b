// Package rm is a ResourceManager: it joins the raft group, leads when it is elected, and serves YARN's protocols and the
// REST API.
//
// A member that doesn't lead keeps the ledger, answers StandbyException, and sends web clients on to the leader.
package rm
