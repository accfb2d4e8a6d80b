// Package hybrid simulates clusters with schedulers of short tasks: Sparrow, Hawk, Eagle, Dice and Eirene, as their authors did, with the code
// that runs live: nm/probe is each worker's queue, am/sched places and binds the tasks, rm/scheduler/policy/partition sizes the short partition,
// nm/staging copies inputs. Only the central scheduler of long tasks is a model of its own (central.go). `heddle-lab sim hybrid` is the
// command line.
//
// A worker has one slot and one queue. A message takes half a millisecond; a node that asks for a task has its slot taken while it waits for the
// answer. Jobs keep their times of arrival: the number of workers sets the load. The same trace, options and seed give the same result, byte for
// byte.
//
// # What is copied from the authors' simulator, on purpose
//
// Results are comparable with those of the simulator that Eagle's authors published, because this one shares its peculiarities: durations and
// estimates are cut to whole seconds, unless Options.Exact; a job may probe a worker twice; probes are never cancelled; the central
// scheduler stops at the first workers without long work, in their order; stealing takes no time and isn't repeated; probes of Eagle are checked
// against a worker's state when they are sent; the node learns what a job has left one round trip late.
//
// Tests compare means of several seeds with that simulator's (testdata), within bands that add what chance allows: on
// Yahoo's slice with 3,000 workers the median of Hawk's short jobs has a standard deviation of 8 to 9 %, in both.
package hybrid
