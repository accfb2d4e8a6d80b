package localizer

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
)

// Info describes a file or directory of a source.
type Info struct {
	Name    string      // last element of the path
	Size    int64       // bytes
	ModTime int64       // ms since 1970
	Mode    fs.FileMode // permission bits and fs.ModeDir
}

// Reader says who reads the files of a resource.
type Reader struct {
	User   string // user who asked for it
	Tokens []byte // the user's credentials
	// Public says that the resource is for all users. A source that the whole cluster shares then reads it
	// as the NodeManager, which sees only files that all users may read.
	Public bool
}

// Source reads the files that resources name. If a file doesn't exist, the error is fs.ErrNotExist.
type Source interface {
	// Stat describes a file. It follows links.
	Stat(ctx context.Context, by Reader, at Location) (Info, error)
	// Open reads a file from its beginning. Closing the reader from another goroutine must end a waiting Read.
	Open(ctx context.Context, by Reader, at Location) (io.ReadCloser, error)
	// List returns the entries of a directory in any order.
	List(ctx context.Context, by Reader, at Location) ([]Info, error)
}

// Sources chooses a source by the scheme of the location. The empty scheme stands for the default file system, AnyScheme for all that have none.
type Sources map[string]Source

// AnyScheme stands for all schemes without a source of their own.
const AnyScheme = "*"

func (s Sources) of(at Location) (Source, error) {
	if src, ok := s[at.Scheme]; ok {
		return src, nil
	}
	if src, ok := s[AnyScheme]; ok {
		return src, nil
	}
	known := make([]string, 0, len(s))
	for scheme := range s {
		if scheme != "" {
			known = append(known, scheme)
		}
	}
	return nil, fmt.Errorf("no file system for scheme %q of %s: this node reads %s", at.Scheme, at, strings.Join(known, ", "))
}

// Stat implements Source.
func (s Sources) Stat(ctx context.Context, by Reader, at Location) (Info, error) {
	src, err := s.of(at)
	if err != nil {
		return Info{}, err
	}
	return src.Stat(ctx, by, at)
}

// Open implements Source.
func (s Sources) Open(ctx context.Context, by Reader, at Location) (io.ReadCloser, error) {
	src, err := s.of(at)
	if err != nil {
		return nil, err
	}
	return src.Open(ctx, by, at)
}

// List implements Source.
func (s Sources) List(ctx context.Context, by Reader, at Location) ([]Info, error) {
	src, err := s.of(at)
	if err != nil {
		return nil, err
	}
	return src.List(ctx, by, at)
}

// ancestors caches the directories checked for one request. The hundred jars of a job are often in one folder, whose
// parents then need only one check, or one for each download that begins at the same time.
type ancestors struct {
	mu   sync.Mutex
	seen map[Location]Info
}

// stat describes a directory. Errors aren't kept: the download that was told of one may have been cancelled, and others for
// which other containers wait as well have not.
func (a *ancestors) stat(ctx context.Context, src Source, by Reader, at Location) (Info, error) {
	a.mu.Lock()
	info, ok := a.seen[at]
	a.mu.Unlock()
	if ok {
		return info, nil
	}
	info, err := src.Stat(ctx, by, at)
	if err != nil {
		return Info{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[Location]Info{}
	}
	a.seen[at] = info
	return info, nil
}

// checkPublic checks that all users may read at (all of it, if it is a directory) and pass through its parents
// (FSDownload.isPublic).
func checkPublic(ctx context.Context, src Source, by Reader, at Location, info Info, seen *ancestors) error {
	if err := checkReadable(ctx, src, by, at, at, info); err != nil {
		return err
	}
	for dir, ok := at.Parent(); ok; dir, ok = dir.Parent() {
		info, err := seen.stat(ctx, src, by, dir)
		if err != nil {
			return err
		}
		if info.Mode.Perm()&0o001 == 0 {
			return &NotPublicError{Location: at, Because: dir, Mode: info.Mode.Perm()}
		}
	}
	return nil
}

// checkReadable checks at, which is the resource or a file in it.
func checkReadable(ctx context.Context, src Source, by Reader, resource, at Location, info Info) error {
	need := fs.FileMode(0o004)
	if info.Mode.IsDir() {
		need = 0o005
	}
	if info.Mode.Perm()&need != need {
		return &NotPublicError{Location: resource, Because: at, Mode: info.Mode.Perm()}
	}
	if !info.Mode.IsDir() {
		return nil
	}
	children, err := src.List(ctx, by, at)
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := checkReadable(ctx, src, by, resource, at.Child(c.Name), c); err != nil {
			return err
		}
	}
	return nil
}
