// Package fifo is YARN's FifoScheduler: one queue, whose applications are served by priority and then by submission. Nothing
// limits them but the cluster.
package fifo
