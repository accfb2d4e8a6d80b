// Package copies simulates jobs whose ApplicationMasters make copies of slow tasks, under a leaf policy of the real scheduler: Hopper's, or one that it is
// compared with. Tasks have the time that their originals and their copies take from the beginning, so that runs under different policies can be compared
// job by job. ApplicationMasters run elsewhere; an original is never killed but by its copy that ends first, and the other way round.
package copies
