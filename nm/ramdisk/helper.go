package ramdisk

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Room is how many bytes of a disk a copy of so many bytes takes: whole pages.
func Room(size int64) int64 {
	page := int64(os.Getpagesize())
	return (size + page - 1) / page * page
}

// Helper is the main function of a helper: it writes size bytes from a pipe to a new file. Without all of them there is no file in the end.
func Helper(from io.Reader, file string, size int64) (err error) {
	// Its bytes come when the daemon has put this process into the group. Before that nothing may be written, so that the first is waited for.
	first := make([]byte, 1)
	if _, err := io.ReadFull(from, first); err != nil {
		return fmt.Errorf("nothing came for %s: %w", file, err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	if _, err := f.Write(first); err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{from}, make([]byte, 1<<20))
	if err == nil && n+1 != size {
		err = fmt.Errorf("%s has got %d bytes instead of %d", file, n+1, size)
	}
	return err
}
