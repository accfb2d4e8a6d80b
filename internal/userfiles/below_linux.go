package userfiles

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// passFlags open a folder on the way to another one. The user need not be allowed to read it.
const passFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openBelow opens the entry that elems lead to. One system call suffices if the kernel is recent and no sandbox forbids
// the call.
func (d *Dir) openBelow(elems []string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(d.fd, strings.Join(elems, "/"), &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // a signal came, or something was renamed
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENAMETOOLONG):
			return d.openStepwise(elems, flags)
		}
		return fd, err
	}
}
