//go:build unix && !linux

package userfiles

import "golang.org/x/sys/unix"

// passFlags open a folder on the way to another one.
const passFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openBelow opens the entry that elems lead to.
func (d *Dir) openBelow(elems []string, flags int) (int, error) { return d.openStepwise(elems, flags) }
