// Package history lets clients, ApplicationMasters and simulated nodes work on a ResourceManager while faults happen. It records what
// they saw, and checks that it is possible: acknowledged applications stay, a container is granted once, and a node never holds more
// than it can. The checks are for linearizability (porcupine).
package history
