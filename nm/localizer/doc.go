// Package localizer turns the local resources of a container (files, archives and patterns in HDFS or on a local file
// system) into paths on this node's disks, as YARN's ResourceLocalizationService does.
//
// A resource is in one of three caches, by its visibility. PUBLIC is shared by all users, PRIVATE by the containers of
// one user, APPLICATION by those of one application. Two resources are the same if location, type, pattern and
// modification time are equal ([Key]). A resource is downloaded once, however many containers want it, into a numbered
// slot of one of the local directories:
//
//	<dir>/filecache/<n>/<name>                                       PUBLIC
//	<dir>/usercache/<user>/filecache/<n>/<name>                      PRIVATE
//	<dir>/usercache/<user>/appcache/<application>/filecache/<n>/<name>   APPLICATION
//
// Numbers start at 10. Once a directory of the first two kinds is full, slots go to sub-directories named 0…9a…z.
// Therefore the first ten numbers are not used (see subdirs.go). A download happens in <n>_tmp. That is renamed when it
// is complete and has its final permissions and owner.
//
// [Localizer.Localize] blocks until everything is localized, and takes a reference on each resource for the container.
// [Localizer.Release] gives them back. Unreferenced PUBLIC and PRIVATE resources stay until the cache exceeds its
// target size. Then the least recently used go first. An application's resources go with the application.
//
// Downloads are hostile input. An archive can't write outside of its directory, whatever its names and links say. Its
// bytes count against the free space of its disk while it unpacks. It may have files, directories and links only. If
// the NodeManager is root and a container's user is another, the directories that decide where data goes belong
// to the NodeManager. Everything below them is reached without following links, and the user gets files only when they
// are complete.
//
// It is large because downloads, archives, recovery and the search for room all work on one cache of files, under its locks.
package localizer
