// Package rm is a ResourceManager: it joins the raft group, leads when it is elected, and serves YARN's protocols and the
// REST API.
//
// A member that doesn't lead keeps the ledger, answers StandbyException, and redirects web clients to the leader.
//
// New opens the ports and the state, Run serves until its context ends. followTerms starts a leader.Leader for each term that this
// member is elected for. replica is the committed ledger that raft applies its entries to; rm/view shows it together with the leader's
// soft state. cmd/heddle starts ResourceManagers.
package rm
