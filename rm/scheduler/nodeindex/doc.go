// Package nodeindex finds nodes that have room for a container, in the order of their numbers, among thousands of nodes.
// The scheduler has one Index of all nodes and one of each rack.
package nodeindex
