// Package ramdisk keeps copies of files in memory: a tmpfs of a hard size, mounted twice. The daemon writes files below the folder "in",
// which only it may enter. Users see them below "out", which is read-only. Only the reader of a copy may open it, and can change neither
// its contents nor its mode. So a reader can neither fill the disk nor see others' copies, and programs need only a path, not a descriptor.
//
// The kernel charges a page to the memory group of the process that has written it. So each copy is written by a helper, a process of this
// program (Helper) in the group of the disk, which gets the bytes by a pipe. It ends when the pipe does, and so when the daemon is killed.
// The next Open or Clear removes the mounts of a killed daemon.
package ramdisk
