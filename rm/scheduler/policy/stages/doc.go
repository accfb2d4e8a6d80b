// Package stages has the state of a leaf's MapReduce applications for stage policies (fresh, omo): how many maps and reduces each has, how
// long they take, how much is left, and what they hold now. Its owner is a leaf.Policy, which passes its events on to a Book.
//
// Applications are unmodified. Their type is MAPREDUCE, and they ask for maps at priority 20 and for reduces at 10, and for maps that have
// failed at 5, as Hadoop's ApplicationMaster and that of `heddle mr` do. Tasks are counted by asks and grants, and take as long as their
// containers live. Other containers of such an application, and containers of other applications, are of no stage: only what they hold
// counts.
//
// Containers differ in size. So a slot is a share of the leaf: of what its stages hold and could get besides, in the resource of which
// that is the largest part (dominant resource). All the leaf is 1.
package stages
