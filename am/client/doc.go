// Package client has typed calls for YARN's ApplicationMasters, and for clients that submit applications.
//
// A Cluster knows the ResourceManagers of a configuration. It returns
//
//   - Applications: a user's calls about applications (get an id, submit, report, kill, wait),
//   - a Master: the dialogue of one ApplicationMaster with the ResourceManager. It remembers what was asked for, sends
//     only what has changed, and matches containers with the requests that they serve. When another ResourceManager has
//     taken over, it restarts the dialogue and loses nothing,
//   - Nodes: calls that start, stop and query containers on NodeManagers.
//
// Package am is a library with events on top of this; use that to write an ApplicationMaster. Everything works with
// stock Hadoop as well. A Heddle ResourceManager holds answers back until there is something to report, so that
// containers arrive within milliseconds.
package client
