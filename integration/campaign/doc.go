// Package campaign is heddle-lab campaign: it causes hundreds of faults in clusters while clients submit, ApplicationMasters ask for containers
// and jobs run. It checks that nothing is lost: acknowledged applications stay, no container is granted twice, no node
// has more than it can hold, no process, cgroup or mount is left behind, and every job has the right result. `make
// campaign` runs it.
//
// Faults come in episodes of ten, each with its own cluster. The printed seed determines them; `--seed K --from I`
// repeats the same faults from the I-th on. Daemons are processes, so two runs still differ in details. Every third
// episode has two ResourceManagers and a witness instead of three ResourceManagers. Every tenth
// episode runs in a virtual machine, where power cuts, steps of the clock, and disks that fail or delay are real.
package campaign
