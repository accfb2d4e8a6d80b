package hdfsadapter

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"

	"github.com/colinmarc/hdfs/v2"

	"heddle/hdfsadapter/javafs"
	"heddle/yarn/ipc"
)

// remote is a NameNode's exception that also matches one of Go's errors.
type remote struct {
	is  error
	err error
}

func (e *remote) Error() string {
	if r := (*ipc.RemoteError)(nil); errors.As(e.err, &r) && r.Message() != "" {
		return e.is.Error() + ": " + r.Message()
	}
	return e.is.Error() + ": " + e.err.Error()
}

func (e *remote) Unwrap() []error { return []error{e.is, e.err} }

// classOf returns the class of a NameNode's exception, which this package or the library met; "" if there is none.
func classOf(err error) string {
	class := ipc.Class(err)
	if e := hdfs.Error(nil); class == "" && errors.As(err, &e) {
		class = e.Exception()
	}
	return class
}

// fromHDFS makes a NameNode's exceptions match the corresponding errors of Go.
func fromHDFS(err error) error {
	if err == nil {
		return nil
	}
	class := classOf(err)
	if class == ipc.FileNotFoundException && strings.Contains(err.Error(), "Path is not a file") {
		return &remote{syscall.EISDIR, err}
	}
	if is, ok := javafs.Exceptions[class]; ok {
		return &remote{is, err}
	}
	if class == ipc.IOException && strings.Contains(err.Error(), "not empty") { // rename's message about its target
		return &remote{syscall.ENOTEMPTY, err}
	}
	// the library's own errors say less
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// pathError adds operation and file to an error, unless the error names that file already.
func pathError(op string, at Location, err error) error {
	if err == nil {
		return nil
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) && p.Path == at.String() {
		return err
	}
	if p, ok := err.(*fs.PathError); ok { // only an error of package os itself, not a wrapped one
		err = p.Err
	}
	return &fs.PathError{Op: op, Path: at.String(), Err: err}
}
