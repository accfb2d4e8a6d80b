package userfiles

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// passFlags open a folder that is only passed through: its user need not be allowed to read it.
const passFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openBelow opens what elems lead to. The kernel can do that at once, if it is of this decade and no sandbox forbids it.
func (d *Dir) openBelow(elems []string, flags int) (int, error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(d.fd, strings.Join(elems, "/"), &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // something was renamed meanwhile
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.ENAMETOOLONG):
			return d.openStepwise(elems, flags)
		}
		return fd, err
	}
}
