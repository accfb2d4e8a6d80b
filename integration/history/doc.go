// Package history runs clients, ApplicationMasters and simulated nodes on a ResourceManager while faults happen. It
// records what they saw, and checks that it is possible: acknowledged applications stay, a container is granted once,
// and a node never holds more than it can. It checks linearizability (porcupine).
package history
