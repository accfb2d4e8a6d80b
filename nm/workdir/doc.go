// Package workdir makes the folders in which a container works, and reads their contents.
//
// Each container gets a work folder on one disk, a log folder on every disk, and a private one that only the
// NodeManager can enter (Places). Users own work and log folders, so the package reaches everything there by
// descriptors (internal/userfiles). Make makes the folders. Links and AddLink determine the links in them. Tails and
// Full help to explain why a container has failed. Leftovers finds what an earlier NodeManager has left.
package workdir
