package hdfsadapter

import (
	"fmt"
	"path"
	"strings"
)

// The schemes that this package knows without Java.
const (
	SchemeFile = "file"
	SchemeHDFS = "hdfs"
)

// Location is the place of a file.
type Location struct {
	Scheme    string // file, hdfs, or one that Java knows
	Authority string // for HDFS: host:port, host, or nameservice; "" of file
	Path      string // absolute and clean
}

// String returns scheme://authority/path.
func (l Location) String() string { return l.Scheme + "://" + l.Authority + l.Path }

// join returns the location of an entry in a directory.
func (l Location) join(name string) Location {
	l.Path = path.Join(l.Path, name)
	return l
}

// split splits a name as Hadoop's Path does: there is no percent-encoding, and the first colon ends the scheme unless a
// slash precedes it.
func split(name string) (scheme, authority, rest string, err error) {
	if name == "" {
		return "", "", "", fmt.Errorf("a path can't be empty")
	}
	if strings.ContainsRune(name, 0) {
		return "", "", "", fmt.Errorf("a path can't contain a zero byte")
	}
	rest = name
	if i := strings.IndexAny(name, ":/"); i >= 0 && name[i] == ':' {
		if scheme, rest = name[:i], name[i+1:]; scheme == "" {
			return "", "", "", fmt.Errorf("the scheme before the colon is missing")
		}
		scheme = strings.ToLower(scheme)
	}
	if tail, ok := strings.CutPrefix(rest, "//"); ok && (scheme != "" || !strings.HasPrefix(tail, "/")) {
		end := strings.IndexByte(tail, '/')
		if end < 0 {
			end = len(tail)
		}
		authority, rest = tail[:end], tail[end:]
	}
	if scheme != "" && rest != "" && rest[0] != '/' {
		return "", "", "", fmt.Errorf("a path with a scheme must be absolute")
	}
	return scheme, authority, rest, nil
}

// clean returns an absolute path. A relative one starts at home.
func clean(p, home string) string {
	if !strings.HasPrefix(p, "/") {
		p = home + "/" + p
	}
	return path.Clean(p)
}
