// Package rest is the web port of a ResourceManager: YARN's REST API (/ws/v1/cluster), Heddle's (/ws/v1/heddle), what
// dashboards and administrators read (/jmx, /metrics, /conf, /stacks, /logLevel, /logs), and where the web pages and the proxy
// to applications' own pages are hung in.
//
// Answers are Hadoop 3.4's, member by member; integration/rest compares them with recordings of a stock ResourceManager.
// Where Hadoop answers a client's mistake with a 5xx, this answers with a 4xx; docs/rest.md lists what else differs.
//
// A member that doesn't lead sends clients to the one that does, but for the paths that tell of itself.
package rest
