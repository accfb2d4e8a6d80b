// Package daemons runs a cluster of heddle processes on loopback, and causes faults in it. It kills and freezes
// daemons, cuts them off, fills their disks, and damages their logs.
//
// Connections between ResourceManagers, and from NodeManagers to ResourceManagers, go through a switch in this process,
// which can cut any daemon off. Daemons dial addresses at 127.0.0.2 (raft) and from 127.0.0.3 on (nodes), where the
// switch listens. They listen on the same ports at 127.0.0.1, nodes at 127.0.2.1, 127.0.2.2, ….
package daemons
