package logs

import (
	"context"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"heddle/yarn/records"
)

// FileInfo is what the remote file system knows of a file or directory.
type FileInfo struct {
	Name    string // last element of the path
	Size    int64
	ModTime int64       // ms since 1970
	Mode    fs.FileMode // permission bits, fs.ModeDir, fs.ModeSticky
}

// File is an open file of the remote file system.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// FS is the file system that logs are aggregated to, as one user sees it. Names are those of Hadoop's paths, with or
// without scheme. Errors are fs.ErrNotExist, fs.ErrExist and fs.ErrPermission where that is what is wrong.
type FS interface {
	// Create makes a file with exactly these permissions, in the place of one that exists. Readers see it once Close
	// has returned nil.
	Create(ctx context.Context, name string, perm fs.FileMode) (io.WriteCloser, error)
	Open(ctx context.Context, name string) (File, error)
	Stat(ctx context.Context, name string) (FileInfo, error)
	List(ctx context.Context, name string) ([]FileInfo, error)
	// MkdirAll makes a directory and its parents; what exists stays as it is.
	MkdirAll(ctx context.Context, name string, perm fs.FileMode) error
	// Chmod sets permission bits and fs.ModeSticky.
	Chmod(ctx context.Context, name string, mode fs.FileMode) error
	// Rename fails with fs.ErrExist if there is something called to.
	Rename(ctx context.Context, from, to string) error
	Remove(ctx context.Context, name string, recursive bool) error
}

// Remote gives access to the remote file system with the rights of a user; an empty one is the NodeManager's own.
type Remote interface {
	As(user string) FS
}

// Place is where aggregated logs go.
type Place struct {
	Root   string // yarn.nodemanager.remote-app-log-dir
	Suffix string // as RemoteSuffix gives it
}

// Names and permissions of what is remote (LogAggregationFileController, LogAggregationUtils).
const (
	rootMode = fs.ModeSticky | 0o777
	dirMode  = fs.FileMode(0o770)
	fileMode = fs.FileMode(0o640)

	bucketPrefix = "bucket-"
	tmpName      = ".tmp" // ends the name of a file that isn't complete
)

// RemoteSuffix is the directory below a user's that a format uses: own is
// yarn.log-aggregation.<format>.remote-app-log-dir-suffix, which decides if it is set, and common
// yarn.nodemanager.remote-app-log-dir-suffix.
func RemoteSuffix(format, own, common string) string {
	if own != "" {
		return own
	}
	return common + "-" + strings.ToLower(format)
}

// AppDir is the directory of an application's logs: <root>/<user>/bucket-<suffix>/<last 4 digits of the id>/<application>.
func (p Place) AppDir(app records.ApplicationID, user string) string {
	return p.join(user, bucketPrefix+p.Suffix, bucket(app), app.String())
}

// OlderAppDir is where Hadoop put them before 3.3.
func (p Place) OlderAppDir(app records.ApplicationID, user string) string {
	return p.join(user, p.Suffix, app.String())
}

func (p Place) join(elems ...string) string {
	// path.Join would shorten the slashes of a scheme.
	return strings.TrimSuffix(p.Root, "/") + "/" + path.Join(elems...)
}

func bucket(app records.ApplicationID) string {
	n := app.ID % 10000
	return string([]byte{'0' + byte(n/1000), '0' + byte(n/100%10), '0' + byte(n/10%10), '0' + byte(n%10)})
}

// nodeName is a node's part of the names of its files.
func nodeName(node records.NodeID) string { return strings.ReplaceAll(node.String(), ":", "_") }

// FormatTime prints ms since 1970 as YARN does in logs' headers and reports, in the local time zone.
func FormatTime(ms int64) string { return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 -0700 2006") }
