// Package sockets reports the traffic on processes' TCP connections, by the kernel's counts: when they last sent something, whether they
// have sent more since, and whether there is something that they haven't read. By that nm/suspend checks that the heartbeats of a breathing
// container have gone out.
//
// Find takes the processes of one container and returns its connections with others. Connections among the processes themselves aren't
// among them. Look asks for their present state. Connections in other network namespaces than the NodeManager's can't be seen.
package sockets
