// Package stages is what stage policies (fresh, omo) know of the MapReduce applications of their leaf: how many maps and reduces each
// has, how long they take, how much is left, and what they hold now. Its owner is a leaf.Policy, which hands on to a Book what it is told.
//
// The applications need not help. Their type is MAPREDUCE, and they ask for maps at priority 20 and for reduces at 10, and for maps that
// have failed at 5, as Hadoop's ApplicationMaster and that of `heddle mr` do. Tasks are counted by asks and grants, and take as long as
// their containers live. Everything else that such an application has, and all of others, is of no stage: it counts for what they hold,
// and nothing more.
//
// Containers differ in size. So a slot is a share of the leaf: of what its stages hold and could get besides, in the resource of which
// that is the largest part (dominant resource). All the leaf is 1.
package stages
