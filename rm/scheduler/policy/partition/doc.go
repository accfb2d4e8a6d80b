// Package partition divides the nodes of a cluster between long and short work, as Hawk, Eagle and Dice do. It is pure: times are arguments, and
// random numbers come from the caller.
//
// Long work goes to the general partition only; short work goes anywhere. Settings say what is long (Long), how many nodes the
// short partition has (Settings.Size), and what nodes and schedulers of short tasks do (Rules). Hawk and Eagle are two of them.
//
// Dice makes the short partition elastic. A Sizer collects the waiting times of short tasks, and says at the end of each window of 60 s:
//
//   - how many nodes of the general partition are closed to new long work until the next one (elastic sizing);
//   - how many nodes of the general partition are asked to suspend a long task, if short ones wait there (opportunistic preemption).
//
// The caller closes the first nodes of an order that stays the same: long tasks last for many windows, so a node drains of them only if it stays
// closed while waits last. It draws those that it asks by chance (Draw). Simulated nodes decide by themselves whether they honour a request (nm/probe, Worker.Suspendable). Live,
// long tasks are containers, and rm/leader/opportunity decides by what a node says of its queue. The limits are the same (Dice.Request): twice a task,
// one on a node, 100 s at most.
//
// The source is chapter 3 of the dissertation on Dice, Eirene and Eunomia.
package partition
