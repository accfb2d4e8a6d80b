// Package omo is the stage policy OMO (Wang, chapter 4). It says for each slot of a leaf that is released who has it:
//
//  1. Lazy start: a job whose reduces are to begin now, so that their shuffle ends with its maps. All its reduces get slots in a row
//     (principle 4.3.1). Until then they wait.
//  2. Else batch finish: a job whose reduces have begun, and whose last maps come before those of others, as all get on sooner then.
//  3. Else the job that holds least of the leaf, as in YARN's FairScheduler.
//
// The text starts reduces at the pending count for which the gap α between the ends of maps and shuffle is least (algorithm 4.3.1). α only
// decreases with that count, so the printed condition is never met. This package implements its meaning: reduces begin once α isn't
// negative, which is when the maps take no longer than the shuffle. Of several such jobs the one with the least |α| comes first, then the one that holds least.
//
// Slots are shares of the leaf (package stages), as containers differ in size. The nodes' shuffle service or the ApplicationMaster reports the
// sizes of map outputs (leaf.Watcher.Outputs), and nodes measure how fast outputs are fetched (leaf.Shuffler); until they have, OMO assumes
// 64 MB/s. Without reports of outputs it assumes that a shuffle lasts as long as a map, so reduces begin when no map waits any more.
//
// Where free room isn't taken, reduces of a job begin earlier, by the time that their containers take to start (stages.Book.Early): otherwise a job
// alone would end later than without a policy. And a job with pending maps of which none runs has the next room for a map, not for a reduce.
// Hadoop's ApplicationMaster ends a reduce in such a case, and if the next reduce got its room, that would repeat itself.
//
// Reduces whose maps haven't ended never take all of the leaf: they leave as much as a map of the largest size needs. The room that they
// leave may lie on several nodes. If no node has room for a map then, the ApplicationMaster gives reduces back, as it does without a
// policy. Package leaf bounds how long reduces wait.
package omo
