// Package nodeset holds the nodes of a cluster by their handles: what each has and what its containers hold, which nodes a host and a rack
// have, and what all open nodes have in sum. It doesn't depend on applications.
//
// Index finds nodes with room among all, IndexOf among those of a rack. A node that is closed, or reserved, has no room. To
// change what a node holds, or its reservation, call Charge or set it, and then Reindex.
package nodeset
