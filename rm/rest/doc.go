// Package rest is the web port of a ResourceManager. It serves YARN's REST API (/ws/v1/cluster), Heddle's (/ws/v1/heddle), and what
// dashboards and administrators read (/jmx, /metrics, /conf, /stacks, /logLevel, /logs). The web pages and the proxy
// to applications' own pages are mounted here too (Mounts).
//
// Answers are Hadoop 3.4's, member by member; integration/rest compares them with recordings of a stock ResourceManager.
// Where Hadoop answers a client's mistake with a 5xx, this package answers with a 4xx; docs/rest.md lists what else differs.
//
// A member that doesn't lead redirects clients to the leader, except for the paths that describe the member itself.
//
// To add a path, add a route in cluster.go (YARN's API) or heddle.go (ours) and a handler in a file named after what it shows; New puts
// them together. Handlers read views (rm/view) and ask the leader; they hold no state.
//
// It is large because YARN's REST API is wide. Each file renders one kind of document, and shares little with the others.
package rest
