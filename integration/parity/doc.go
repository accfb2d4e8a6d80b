// Package parity runs the same jobs on a stock Hadoop and on Heddle, with the same configuration, and compares what the daemons tell
// of themselves: /jmx, /prom, /conf and the REST API, bean by bean and key by key. Real programs that read these are tested here, too.
package parity
