// Package client makes the calls of YARN's ApplicationMasters and of those who submit them, typed and with contexts.
//
// A Cluster knows the ResourceManagers of a configuration. It hands out
//
//   - Applications: what a user asks about applications (get an id, submit, report, kill, wait),
//   - a Master: the conversation of one ApplicationMaster with the ResourceManager. It keeps what was asked for, tells the
//     ResourceManager only what has changed, matches containers with the requests that they serve, and starts the
//     conversation anew, losing nothing, when another ResourceManager has taken over,
//   - Nodes: starting, stopping and asking about containers on NodeManagers.
//
// Package am builds a library with events on top; use that to write an ApplicationMaster. All of this works with stock
// Hadoop as well; where a Heddle ResourceManager is at the other end, it holds answers back until there is something to
// tell, and containers arrive within milliseconds.
package client
