// Package ramdisk keeps copies of files in memory: a tmpfs of a hard size, mounted twice. Below the folder "in", which only the daemon may enter, files are
// written; below "out", read-only, users see them. A copy belongs to its reader, who alone may open it, and who can't
// change it or its mode, since that mount is read-only. So a reader can't fill the disk, nor see what others read; a path is enough for programs that
// know nothing of it, as a descriptor over a socket would not be.
//
// The kernel charges a page to the memory group of the process that has written it. So each copy is written by a helper, a process of this program
// (Helper) in the group of the disk, which gets the bytes by a pipe. It ends when the pipe does, and so when the daemon is killed. What
// the killed daemon has mounted goes with the next Open or Clear.
package ramdisk
