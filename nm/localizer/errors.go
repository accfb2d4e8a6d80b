package localizer

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"heddle/yarn/records"
)

// Error says which resource of which container could not be localized. Its text is that of the cause. It names the
// resource, and has YARN's words if there are any.
type Error struct {
	Container records.ContainerID
	Link      string // name of the resource in the container
	Resource  Resource
	Err       error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ChangedError says that a resource was changed after the application had looked at it.
type ChangedError struct {
	Location      Location
	Expected, Was int64 // modification times, ms since 1970
	Now           time.Time
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("Resource %s changed on src filesystem - expected: %q, was: %q, current time: %q",
		e.Location, iso8601(e.Expected), iso8601(e.Was), iso8601(e.Now.UnixMilli()))
}

// iso8601 formats ms since 1970 as Hadoop's Times does, in the local time zone.
func iso8601(ms int64) string {
	return time.UnixMilli(ms).Format("2006-01-02T15:04:05.000-0700")
}

// NotPublicError says that some users can't read a PUBLIC resource.
type NotPublicError struct {
	Location Location
	Because  Location // the file or directory at fault
	Mode     fs.FileMode
}

func (e *NotPublicError) Error() string {
	return fmt.Sprintf("Resource %s is not publicly accessible and as such cannot be part of the public cache."+
		" (%s has mode %04o)", e.Location, e.Because, e.Mode)
}

// DiskFullError says that a local directory has no room for a resource.
type DiskFullError struct {
	Dir      string // the local directory (yarn.nodemanager.local-dirs)
	Free     uint64 // bytes
	Reserved uint64 // bytes that downloads leave free
	Inodes   bool   // inodes are missing, not bytes
}

func (e *DiskFullError) Error() string {
	if e.Inodes {
		return fmt.Sprintf("no inodes left on the disk of %s: remove files there", e.Dir)
	}
	return fmt.Sprintf("no space left on the disk of %s: %d MB free, of which downloads leave %d MB: free some, or lower"+
		" yarn.nodemanager.localizer.cache.target-size-mb", e.Dir, e.Free>>20, e.Reserved>>20)
}

// Is makes a DiskFullError match ENOSPC.
func (e *DiskFullError) Is(target error) bool { return target == syscall.ENOSPC }

// ErrNoDirectory says that no local directory can take a resource.
var ErrNoDirectory = errors.New("no local directory to write to: see the node's health report")

// explain adds the resource to the error of a download.
func explain(at Location, err error) error {
	var changed *ChangedError
	var private *NotPublicError
	var missing *notExistError
	if errors.As(err, &changed) || errors.As(err, &private) || errors.As(err, &missing) {
		return err
	}
	return &downloadError{at, err}
}

// downloadError has YARN's words for everything else.
type downloadError struct {
	at  Location
	err error
}

func (e *downloadError) Error() string {
	return fmt.Sprintf("Failed to download resource %s: %v", e.at, e.err)
}
func (e *downloadError) Unwrap() error { return e.err }

// missing gives a source's error for a missing file Hadoop's words. It returns other errors unchanged.
func missing(at Location, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &notExistError{at, err}
	}
	return err
}

// notExistError has Hadoop's words for a missing file.
type notExistError struct {
	at  Location
	err error
}

func (e *notExistError) Error() string { return "File does not exist: " + e.at.String() }
func (e *notExistError) Unwrap() error { return e.err }
