// Package nm is a NodeManager: it puts together what runs containers (nm/container) with what localizes their files, keeps
// their logs, shuffles their outputs, watches the node and talks to ApplicationMasters and the ResourceManager.
//
// New opens everything that can be refused: the configuration, the state folder, ports, disks; Run works until its
// context ends. A NodeManager that is killed leaves its containers running, and one that is started anew with the same
// state folder takes them up again. One that is asked to stop kills them, unless it is supervised
// (yarn.nodemanager.recovery.supervised), that is, about to be started again.
package nm
