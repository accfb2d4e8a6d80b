package whatif

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"heddle/internal/bounded"
	"heddle/rm/scheduler/eventlog/anonymous"
)

// maxFiles bounds a folder of records.
const maxFiles = 100_000

// anonymize copies a record, or a folder of them, without names. What is there already isn't replaced.
func anonymize(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	names := &anonymous.Names{}
	if !info.IsDir() {
		return anonymizeFile(names, from, to)
	}
	files, err := bounded.Names(from, maxFiles)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o750); err != nil {
		return err
	}
	slices.Sort(files)
	for i, f := range files {
		if err := anonymizeFile(names, filepath.Join(from, f), filepath.Join(to, fmt.Sprintf("events-%06d.log", i+1))); err != nil {
			return err
		}
	}
	return nil
}

func anonymizeFile(names *anonymous.Names, from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, 1<<20)
	in := io.Reader(buffered)
	if begin, _ := buffered.Peek(2); string(begin) == "\x1f\x8b" { // gzip
		if in, err = gzip.NewReader(buffered); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if err := names.Copy(out, in); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", from, err), out.Close(), os.Remove(to))
	}
	return out.Close()
}
