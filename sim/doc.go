// Package sim is the discrete-event simulator: a virtual clock, an event queue, and simulated nodes and ApplicationMasters
// with set task durations that drive the same rm/scheduler as a live ResourceManager.
//
// An Engine knows time and events and nothing else; a Cluster is the model of a cluster on top of it. Everything is
// deterministic: the same jobs, nodes, configuration and seed give the same report, byte for byte. There is no goroutine
// and no real time in a simulation. Traces of jobs are read by package sim/trace, or made by Generate.
package sim
