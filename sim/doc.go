// Package sim is the discrete-event simulator. It has a virtual clock, an event queue, and simulated nodes and
// ApplicationMasters with given task durations. They use the same rm/scheduler/drive as a live ResourceManager.
//
// An Engine knows only time and events. A Cluster models a cluster on top of it. Everything is deterministic: the same
// jobs, nodes, configuration and seed give the same report, byte for byte. A simulation uses no goroutines and no real
// time. Package sim/trace reads traces of jobs; Generate makes synthetic jobs. `heddle sim` is the command line.
package sim
