package userfiles

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// openBelow opens the file that elems lead to from base, following no link after base. The kernel can do that at once, if
// it is of this decade and no sandbox forbids it.
func openBelow(base string, elems []string) (*os.File, error) {
	dir, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: base, Err: err}
	}
	defer unix.Close(dir)
	how := unix.OpenHow{Flags: fileFlags, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(dir, strings.Join(elems, "/"), &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // something was renamed meanwhile
			continue
		case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
			return openStepwise(base, elems)
		}
		return newFile(fd, base, elems, err)
	}
}
