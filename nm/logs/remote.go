package logs

import (
	"cmp"
	"context"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"heddle/yarn/records"
)

// FileInfo describes a file or directory of the remote file system.
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

// FS is the file system for aggregated logs, with the rights of one user. Names are Hadoop's paths, with or without a
// scheme. Errors match fs.ErrNotExist, fs.ErrExist and fs.ErrPermission.
type FS interface {
	// Create makes a file with exactly these permissions. It replaces an existing one. Readers see the file once Close
	// has returned nil.
	Create(ctx context.Context, name string, perm fs.FileMode) (io.WriteCloser, error)
	Open(ctx context.Context, name string) (File, error)
	Stat(ctx context.Context, name string) (FileInfo, error)
	List(ctx context.Context, name string) ([]FileInfo, error)
	// MkdirAll makes a directory and its missing parents. It doesn't change existing ones.
	MkdirAll(ctx context.Context, name string, perm fs.FileMode) error
	// Chmod sets permission bits and fs.ModeSticky.
	Chmod(ctx context.Context, name string, mode fs.FileMode) error
	// Rename fails with fs.ErrExist if to exists.
	Rename(ctx context.Context, from, to string) error
	Remove(ctx context.Context, name string, recursive bool) error
}

// Remote gives access to the remote file system with the rights of a user. An empty user is the NodeManager's own.
type Remote interface {
	As(user string) FS
	// Bearing is As with the tokens in the credentials of one of the user's containers.
	Bearing(user string, credentials []byte) FS
}

// Place says where aggregated logs of a format are.
type Place struct {
	Root   string
	Suffix string
}

// PlaceOf returns the place of a format's logs. text returns settings. Those of the format, yarn.log-aggregation.<format>.remote-app-log-dir and …-suffix,
// go before those for all formats, yarn.nodemanager.remote-app-log-dir and …-suffix, of which the latter gets the format's name
// (LogAggregationFileController).
func PlaceOf(format string, text func(key string) string) Place {
	const common = "yarn.nodemanager.remote-app-log-dir"
	own := "yarn.log-aggregation." + format + ".remote-app-log-dir"
	return Place{
		Root:   cmp.Or(text(own), text(common)),
		Suffix: cmp.Or(text(own+"-suffix"), text(common+"-suffix")+"-"+strings.ToLower(format)),
	}
}

// Names and permissions of remote files (LogAggregationFileController, LogAggregationUtils).
const (
	rootMode = fs.ModeSticky | 0o777
	dirMode  = fs.FileMode(0o770)
	fileMode = fs.FileMode(0o640)

	bucketPrefix = "bucket-"
	tmpName      = ".tmp" // suffix of incomplete files
)

// AppDir returns the directory of an application's logs: <root>/<user>/bucket-<suffix>/<last 4 digits of the
// id>/<application>.
func (p Place) AppDir(app records.ApplicationID, user string) string {
	return p.join(user, bucketPrefix+p.Suffix, bucket(app), app.String())
}

// OlderAppDir returns the directory that Hadoop used before 3.3.
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

// nodeName returns a node's part of the names of its files.
func nodeName(node records.NodeID) string { return strings.ReplaceAll(node.String(), ":", "_") }

// FormatTime formats ms since 1970 as YARN does in logs' headers and reports, in the local time zone.
func FormatTime(ms int64) string { return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 -0700 2006") }
