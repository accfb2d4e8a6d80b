// Package history has clients, ApplicationMasters and simulated nodes work on a ResourceManager while things happen to it, keeps what
// they saw, and checks that it can have been: acknowledged applications stay, a container is given out once, and a node never holds more
// than it can. The checks are for linearizability (porcupine).
package history
