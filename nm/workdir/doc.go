// Package workdir makes the folders that a container works in, and knows what lies in them.
//
// A container has a work folder on one disk, a log folder on every disk, and a private one that only the NodeManager gets into
// (Places). Users own work and log folders, so that everything there is reached by descriptors (internal/userfiles). Make
// makes them, Links and AddLink say what is linked there, Tails and Full help to tell why a container has failed. Leftovers finds
// what an earlier NodeManager has left.
package workdir
