// Package localizer turns the local resources of a container (files, archives and patterns in HDFS or on a local file
// system) into paths on this node's disks, as YARN's ResourceLocalizationService does.
//
// A resource lives in one of three caches, by its visibility: PUBLIC is shared by everybody, PRIVATE by the containers
// of one user, APPLICATION by those of one application. A resource is the same as another if location, type, pattern
// and modification time are equal ([Key]). It is downloaded once, however many containers want it, into a numbered slot
// of one of the local directories:
//
//	<dir>/filecache/<n>/<name>                                       PUBLIC
//	<dir>/usercache/<user>/filecache/<n>/<name>                      PRIVATE
//	<dir>/usercache/<user>/appcache/<application>/filecache/<n>/<name>   APPLICATION
//
// Numbers count from 10; once a directory of the first two kinds is full, slots go to sub-directories named 0…9a…z,
// which is why the first ten numbers stay free (see subdirs.go). A download happens in <n>_tmp, which is renamed when it is
// complete, with its final permissions and owner.
//
// [Localizer.Localize] blocks until everything is there and takes a reference on each resource for the container;
// [Localizer.Release] gives them back. Unreferenced PUBLIC and PRIVATE resources stay until the cache outgrows its
// target size, then the least recently used go first. Those of an application go with it.
//
// What is downloaded is hostile input: an archive writes nothing outside of its directory, whatever its names and links
// say, is charged against the free space of its disk while it unpacks, and may hold files, directories and links only.
// Where the NodeManager is root and a container's user is somebody else, the directories that decide where data goes
// belong to the NodeManager, everything below them is reached without following links, and files are handed to
// the user only when they are complete.
package localizer
