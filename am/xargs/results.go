package xargs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// results are the files of one command below --results: DIR/N/stdout, stderr, command (with a NUL after each argument) and
// exit. Commands count from 1.
type results struct {
	dir            string
	stdout, stderr *os.File
}

func openResults(dir string, t *Task) (*results, error) {
	r := &results{dir: filepath.Join(dir, strconv.Itoa(t.Number+1))}
	if err := os.MkdirAll(r.dir, 0o777); err != nil {
		return nil, err
	}
	// A file that says how the command ended belongs to one that ended.
	if err := os.Remove(filepath.Join(r.dir, "exit")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	command := strings.Join(t.Args, "\x00") + "\x00"
	if err := os.WriteFile(filepath.Join(r.dir, "command"), []byte(command), 0o666); err != nil {
		return nil, err
	}
	var err error
	if r.stdout, err = os.Create(filepath.Join(r.dir, "stdout")); err != nil {
		return nil, err
	}
	if r.stderr, err = os.Create(filepath.Join(r.dir, "stderr")); err != nil {
		r.stdout.Close()
		return nil, err
	}
	return r, nil
}

// close writes how the command has ended: an exit status, or what a shell has for a signal, or why it wasn't run.
func (r *results) close(got Outcome) error {
	text := strconv.Itoa(got.Exit)
	switch {
	case got.Err != nil:
		text = got.Err.Error()
	case got.TimedOut:
		text = "timeout"
	case got.Signal != 0:
		text = strconv.Itoa(128 + int(got.Signal))
	}
	err := errors.Join(r.stdout.Close(), r.stderr.Close())
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "exit"), []byte(text+"\n"), 0o666)
	}
	if err != nil {
		return fmt.Errorf("--results: %w", err)
	}
	return nil
}
