// Package receipt says where an application's time went: along the chain of steps of which each had to wait for the one before, from its submission to its end. It
// knows what the ResourceManager and the nodes record of any application, and nothing of what happens within a container.
//
// The chain is found from its end. The step that ended last is the one that the application's end waited for. Before its ask it waited for what ended last
// then, and so on, to the registration of the ApplicationMaster. Steps follow each other without a gap, so that they sum to the application's time.
//
// An ApplicationMaster may report its ended tries of tasks, at most 64 a second on average. Times in it are ms ago, as
// its clock may be wrong. For how long a container could have run and had no processor (nm/cgroup/starved) shows a slow
// node where nothing can be compared, as with Spark's executors. TestReceiptsAndRecords in integration/load demands that
// receipts take less than 1 % of a leader's samples, TestFortyReceiptsNameTheCause in integration/jobs that they name
// the cause of each wait.
package receipt
