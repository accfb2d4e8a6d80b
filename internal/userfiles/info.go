//go:build unix

package userfiles

import (
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// info is an os.FileInfo obtained from a descriptor. os.File.Readdir would look entries up by their paths.
type info struct {
	name string
	st   unix.Stat_t
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.st.Size }
func (i info) ModTime() time.Time { return time.Unix(i.st.Mtim.Unix()) }
func (i info) IsDir() bool        { return i.Mode().IsDir() }
func (i info) Sys() any           { return &i.st }

// kinds are the types of files that aren't regular.
var kinds = map[uint32]fs.FileMode{
	unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFIFO: fs.ModeNamedPipe, unix.S_IFSOCK: fs.ModeSocket,
	unix.S_IFBLK: fs.ModeDevice, unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice,
}

func (i info) Mode() fs.FileMode {
	m := uint32(i.st.Mode)
	mode := fs.FileMode(m&0o777) | kinds[m&unix.S_IFMT]
	for bit, is := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if m&bit != 0 {
			mode |= is
		}
	}
	return mode
}

// Owner returns the uid of a file's owner.
func Owner(fi os.FileInfo) int {
	switch st := fi.Sys().(type) {
	case *unix.Stat_t:
		return int(st.Uid)
	case *syscall.Stat_t:
		return int(st.Uid)
	}
	return -1
}

// links returns the number of a file's names.
func links(fi os.FileInfo) uint64 {
	switch st := fi.Sys().(type) {
	case *unix.Stat_t:
		return uint64(st.Nlink)
	case *syscall.Stat_t:
		return uint64(st.Nlink)
	}
	return 1
}
