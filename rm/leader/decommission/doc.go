// Package decommission takes nodes out of the cluster that the lists of hosts exclude, as Hadoop's NodesListManager and
// DecommissioningNodesWatcher do: at once, or gracefully, as soon as the applications that ran on them have ended or the time is up. An
// administrator's new lists go in. Commands go to the ledger, and nodes are closed and removed.
//
// A leader has one Hosts, asks it which nodes may register, and calls it once a second to remove nodes that are due.
package decommission
