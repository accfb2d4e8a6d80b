package ramdisk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Room returns how many bytes of a disk a copy of so many bytes takes: whole pages.
func Room(size int64) int64 {
	page := int64(os.Getpagesize())
	return (size + page - 1) / page * page
}

// longestHeader is more bytes than a name and a size have.
const longestHeader = 4 << 10

// Helper is the main function of a helper, which ends with its pipe: it writes files to a folder. For each, a line with the name and the size in
// bytes comes, and then its bytes. A line with the name goes back when the file is whole. If not all of its bytes come, there is no file in the end.
//
// The first line comes when the daemon has put this process into the group. Before that nothing may be written.
func Helper(from io.Reader, to io.Writer, dir string) error {
	in := bufio.NewReaderSize(from, longestHeader)
	buffer := make([]byte, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the name and size of a copy: %w", err)
		}
		name, text, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
		size, err := strconv.ParseInt(text, 10, 64)
		if err != nil || size < 1 || name == "" || name != filepath.Base(name) {
			return fmt.Errorf("%q: want NAME SIZE", line)
		}
		if err := writeCopy(in, filepath.Join(dir, name), size, buffer); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(to, name); err != nil {
			return err
		}
	}
}

// writeCopy writes so many bytes to a new file. Without all of them there is none.
func writeCopy(from io.Reader, file string, size int64, buffer []byte) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(file))
		}
	}()
	// The wrapper keeps Go from looking for another way to copy.
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, io.LimitReader(from, size), buffer)
	if err == nil && n != size {
		err = fmt.Errorf("%s has got %d bytes instead of %d", file, n, size)
	}
	return err
}
