// Package nm is a NodeManager. It wires together the packages that run containers (nm/container), localize their files, keep their logs,
// shuffle their outputs, watch the node and serve ApplicationMasters and the ResourceManager.
//
// New opens the state folder, ports and disks, and fails if one of them or the configuration can't be used. Run works until its context
// ends. A NodeManager that is killed leaves its containers running, and one that is started again with the same state folder takes them up
// again. One that is asked to stop kills them, unless it is supervised (yarn.nodemanager.recovery.supervised), that is, about to be started
// again.
package nm
