package jvmarchive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"heddle/internal/bounded"
	"heddle/internal/userfiles"
)

// Limits of a list of classes.
const (
	maxListBytes = 16 << 20
	maxClasses   = 60_000
	maxLine      = 4096
)

// readClasses reads a list of classes in the format of -XX:DumpLoadedClassList, in its order. It omits classes of a
// program's own class loaders, and an incomplete last line, which a killed JVM leaves.
func readClasses(r io.Reader) ([]string, error) {
	b := bufio.NewReaderSize(io.LimitReader(r, maxListBytes), maxLine)
	var out []string
	for len(out) < maxClasses {
		line, err := b.ReadString('\n')
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || len(line) > maxLine || strings.ContainsAny(line, "\x00\r") {
			continue
		}
		if line[0] != '@' {
			fields := strings.Fields(line)
			if strings.Contains(line, " source:") || strings.Contains(fields[0], "$Proxy") {
				continue
			}
			line = fields[0] // without the number that newer JVMs add, which only this list uses
		}
		out = append(out, line)
	}
	return out, nil
}

// mergeClasses adds classes to the list in a file. It returns the length of the list, and how many of the classes are
// new.
func mergeClasses(folder *userfiles.Dir, name string, classes []string) (all, fresh int, err error) {
	var old []string
	if f, err := folder.Open(userfiles.Anybody, name); err == nil {
		old, err = readClasses(f)
		f.Close()
		if err != nil {
			return 0, 0, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, 0, err
	}
	known := make(map[string]bool, len(old))
	var b bytes.Buffer
	write := func(c string) {
		if !known[c] && len(known) < maxClasses && b.Len() < maxListBytes-maxLine {
			known[c] = true
			b.WriteString(c + "\n")
		}
	}
	for _, c := range old {
		write(c)
	}
	before := len(known)
	for _, c := range classes {
		write(c)
	}
	if fresh = len(known) - before; fresh == 0 {
		return before, 0, nil
	}
	if err := replace(folder, name, b.Bytes(), (*userfiles.User)(nil).Want(0o600)); err != nil {
		return before, 0, fmt.Errorf("list of classes: %w", err)
	}
	return len(known), fresh, nil
}

// newSuffix is the suffix of incomplete files.
const newSuffix = ".new"

// replace writes a whole file or nothing.
func replace(folder *userfiles.Dir, name string, content []byte, want userfiles.Want) error {
	tmp := name + newSuffix
	err := folder.Write(tmp, content, want)
	if err == nil {
		err = folder.Rename(tmp, folder, name)
	}
	if err != nil {
		return errors.Join(err, folder.RemoveAll(tmp))
	}
	return nil
}

// readAll reads a file of the store.
func readAll(folder *userfiles.Dir, name string) ([]byte, error) {
	f, err := folder.Open(userfiles.Anybody, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return bounded.ReadAll(f, maxListBytes)
}
