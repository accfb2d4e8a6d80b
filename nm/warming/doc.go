// Package warming reads the input of MapReduce's maps into memory while they wait, so that they find it in the page cache of the node's
// DataNode instead of on its disk. Jobs are Hadoop's own, unmodified.
//
// # How a job's input becomes known
//
// A MapReduce client leaves the list of the job's splits in two files (job.split and job.splitmetainfo), which its ApplicationMaster's
// container names as local resources. The node that localizes them reads the list ([ReadJob]) and reports it with a heartbeat
// ([Warmer.Inputs]). The ResourceManager tells each node which of these ranges maps will read there, and from then on how many of the
// maps that could run there still wait ([Warmer.Order]).
//
// # What the NameNode caches
//
// With Config.NameNode files that a job reads whole are cached by the NameNode, as long as maps of the job wait: the node of its
// ApplicationMaster adds directives, renews them and removes them. They expire by themselves where a node was killed. Splits of these files are
// reported without a file, so that no node reads them ahead.
//
// # What is read, and how much
//
// The ranges of jobs are read in the order in which MapReduce starts maps, as the job's user, from the DataNode of this host alone.
// What was read for maps that still wait is at most Config.Window bytes; a range goes when its map has started. Readers together read
// Config.Rate bytes a second at most.
//
// Nothing waits for warming or depends on it. It ends for a job whose input can't be read.
package warming
