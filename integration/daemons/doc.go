// Package daemons runs a cluster of processes of the heddle binary on loopback, and does to them what happens to daemons: it kills,
// freezes, and cuts them off, fills their disks, and tears their logs.
//
// Connections between ResourceManagers, and those of NodeManagers to ResourceManagers, go through a switch in this process, which
// can cut anybody off: dialled are addresses at 127.0.0.2 (raft) and from 127.0.0.3 on (nodes), where the switch listens; daemons listen on
// the same ports at 127.0.0.1, nodes at 127.0.2.1, 127.0.2.2, ….
package daemons
