// Command campaign strikes clusters with hundreds of faults while clients submit, ApplicationMasters ask for containers and jobs run, and
// checks that nothing is lost: no acknowledged application, no container given out twice, no node with more than it can hold, no process,
// cgroup or mount left behind, every job with the right result. `make campaign` runs it.
//
// Faults come in episodes of ten, each with a cluster of its own. What happens follows from the seed, which is printed; `-seed K -from I`
// plays the same faults again from the I-th on. Daemons are processes, so that two runs don't take the same course in all.
// Every tenth episode is played in a virtual machine, where power cuts, steps of the clock and disks that fail or delay are real.
package main
