// Package sim is the discrete-event simulator: a virtual clock, an event queue, and simulated nodes and ApplicationMasters
// with given task durations. They drive the same rm/scheduler/drive as a live ResourceManager.
//
// An Engine knows only time and events; a Cluster is the model of a cluster on top of it. Everything is
// deterministic: the same jobs, nodes, configuration and seed give the same report, byte for byte. A simulation has no goroutines
// and no real time. Package sim/trace reads traces of jobs; Generate makes jobs up. `heddle sim` is the command line.
package sim
