// Package sockets tells what processes have sent over their TCP connections, as the kernel counts it: when they last sent something, whether
// they have sent more since, and whether there is something that they haven't read. nm/suspend sees by that whether the heartbeats of a
// container that runs for a moment have gone out.
//
// Find takes the processes of one container and returns its connections with others. Connections among the processes themselves aren't
// among them. Look asks again how those are. Connections in other network namespaces than the NodeManager's can't be seen.
package sockets
