// Command campaign strikes clusters with hundreds of faults while clients submit, ApplicationMasters ask for containers and jobs run. It
// checks that nothing is lost: no acknowledged application, no container granted twice, no node with more than it can hold, no process,
// cgroup or mount left behind, every job with the right result. `make campaign` runs it.
//
// Faults come in episodes of ten, each with its own cluster. The seed, which is printed, determines what happens; `-seed K -from I`
// plays the same faults again from the I-th on. Daemons are processes, so two runs still differ in details.
// Every tenth episode runs in a virtual machine, where power cuts, steps of the clock, and disks that fail or delay are real.
package main
