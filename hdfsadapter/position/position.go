// Package position moves positions in open files.
package position

import (
	"io"
	"io/fs"
)

// Seek moves a position in a file of that size, as io.Seeker says. As in a file of this machine, it may be after the end.
func Seek(pos *int64, size, off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		off += *pos
	case io.SeekEnd:
		off += size
	default:
		return *pos, fs.ErrInvalid
	}
	if off < 0 {
		return *pos, fs.ErrInvalid
	}
	*pos = off
	return off, nil
}
