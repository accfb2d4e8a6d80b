// Package load makes of a record of a ResourceManager's scheduler (rm/scheduler/eventlog) the load that the cluster was under: its nodes
// over time, its applications, what these asked for and after what, and how long their containers ran. A Load can be played under another
// configuration (sim/whatif/play).
//
// A record says when something happened, not why. The load is made by these assumptions:
//
//   - Applications are submitted, and nodes come and go, at the recorded times, whatever else changes.
//   - An ApplicationMaster asks after what it has seen: a request follows the completion of as many containers of the attempt as had ended
//     when it was made, and the request before it, by the recorded delay. The first follows the grant of the ApplicationMaster's container.
//     So reduces follow maps, and a stage the stage before.
//   - A container runs for as long as recorded, from its grant to its end, without the time for which it was suspended. The n-th grant
//     of a kind (priority and size) in an attempt runs for as long as the n-th did then.
//   - Reduces of MapReduce that began before the last map ended need, after the last map, as long as they did then.
//   - Containers that ended with their attempt (Spark's executors) share work: the attempt ends when all of them together have run for as long as then.
//   - What preemption killed, and what was lost with its node, ran for nothing: it isn't part of the load, nor is the request that it
//     caused.
//   - An attempt whose ApplicationMaster failed ends as long after its start as then. An application that ended with requests
//     unserved was withdrawn, as long after its submission as then.
//
// Requests are kept as changes of what was asked for, as ApplicationMasters ask by absolute numbers, which hold only for the grants of then.
package load
