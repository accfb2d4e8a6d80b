// Package rest serves a node over HTTP: YARN's API /ws/v1/node, Heddle's own /ws/v1/heddle, plain pages below /node for
// the links that ResourceManagers, ApplicationMasters and clients give out, and the paths of all of Hadoop's daemons:
// /jmx, /conf, /stacks, /logLevel and /logs. /metrics is for Prometheus.
//
// With yarn.acl.enable, users on the application's view ACL may see logs, and users on its modify ACL may suspend and
// resume containers. Unlike in Hadoop, a caller without a name counts as a stranger.
package rest
