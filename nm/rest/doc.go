// Package rest serves a node over HTTP: YARN's API /ws/v1/node, Heddle's own /ws/v1/heddle, plain pages below /node for
// the links that ResourceManagers, ApplicationMasters and clients hand out, and what all of Hadoop's daemons have: /jmx,
// /conf, /stacks, /logLevel and /logs, beside /metrics for Prometheus.
//
// With yarn.acl.enable, logs are shown to those whom the application's view ACL admits, and containers are suspended and
// resumed by those whom its modify ACL does. Unlike in Hadoop somebody who doesn't say who he is counts as a stranger.
package rest
