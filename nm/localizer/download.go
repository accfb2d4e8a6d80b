package localizer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/internal/userfiles"
)

// download fetches one resource into one slot.
type download struct {
	source Source
	res    Resource
	by     Reader
	owner  *userfiles.User // future owner of the files; nil: the NodeManager
	seen   *ancestors
	now    func() time.Time
	meter  *meter
	log    *logrus.Entry
}

// into fetches the resource into the directory slot of parent. The directory appears when it is complete. into returns
// the bytes that it takes. After an error nothing remains.
func (d *download) into(ctx context.Context, parent *userfiles.Dir, slot string) (size int64, err error) {
	at := d.res.Location
	info, err := d.source.Stat(ctx, d.by, at)
	if err != nil {
		return 0, missing(at, err)
	}
	if info.ModTime != d.res.Timestamp {
		return 0, &ChangedError{Location: at, Expected: d.res.Timestamp, Was: info.ModTime, Now: d.now()}
	}
	if !info.Mode.IsDir() && info.Size != d.res.Size {
		// YARN doesn't check the size, and some applications guess it. The modification time tells whether it is the
		// right file.
		d.log.WithFields(logrus.Fields{"resource": at.String(), "announced": d.res.Size, "size": info.Size}).
			Warn("the size of a local resource differs from the one in its request")
	}
	if d.res.Visibility == Public {
		if err := checkPublic(ctx, d.source, d.by, at, info, d.seen); err != nil {
			return 0, err
		}
	}
	if err := d.meter.check(); err != nil {
		return 0, err
	}
	tmp := slot + tmpSuffix
	if err := parent.RemoveAll(tmp); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = d.meter.full(err)
			if rerr := parent.RemoveAll(tmp); rerr != nil {
				err = errors.Join(err, fmt.Errorf("and its incomplete directory can't be removed: %w", rerr))
			}
		}
	}()
	dir, err := parent.New(tmp)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	if err := d.fill(ctx, dir, info); err != nil {
		return 0, err
	}
	if size, err = d.settle(dir, at.Name()); err != nil {
		return 0, err
	}
	if err := dir.Set(d.owner.Want(0o755)); err != nil {
		return 0, err
	}
	return size, parent.Rename(tmp, parent, slot)
}

// fill fetches the resource into a directory that no other can enter.
func (d *download) fill(ctx context.Context, dir *userfiles.Dir, info Info) error {
	root, err := dir.Root()
	if err != nil {
		return err
	}
	defer root.Close()
	if info.Mode.IsDir() {
		return d.copyDir(ctx, root, d.res.Location, d.res.Location.Name(), 0)
	}
	return d.unpack(ctx, root, info)
}

// open opens the file at; it can be read until ctx ends.
func (d *download) open(ctx context.Context, at Location) (io.Reader, func(), error) {
	r, err := d.source.Open(ctx, d.by, at)
	if err != nil {
		return nil, nil, missing(at, err)
	}
	stop := context.AfterFunc(ctx, func() { r.Close() })
	return r, func() {
		stop()
		r.Close()
	}, nil
}

// copyDir copies a directory. As in YARN the type of the resource doesn't matter.
func (d *download) copyDir(ctx context.Context, root *os.Root, at Location, to string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: more than %d directories deep", at, maxDepth)
	}
	if err := d.meter.created(); err != nil {
		return err
	}
	if err := root.Mkdir(to, 0o700); err != nil {
		return err
	}
	entries, err := d.source.List(ctx, d.by, at)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := validName(e.Name); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		child, dst := at.Child(e.Name), path.Join(to, e.Name)
		if e.Mode.IsDir() {
			err = d.copyDir(ctx, root, child, dst, depth+1)
		} else {
			err = d.copyFile(ctx, root, child, dst)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *download) copyFile(ctx context.Context, root *os.Root, at Location, to string) error {
	src, done, err := d.open(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	f, err := d.save(root, src, to)
	if err != nil {
		return err
	}
	return f.Close()
}

// save writes src into a new file, and returns that open.
func (d *download) save(root *os.Root, src io.Reader, to string) (*os.File, error) {
	if err := d.meter.created(); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(to, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := d.meter.copy(f, src); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unpack copies or unpacks the file, depending on its type and name.
func (d *download) unpack(ctx context.Context, root *os.Root, info Info) error {
	at, name := d.res.Location, d.res.Location.Name()
	format := formatOf(d.res.Type, name)
	if format == plain {
		return d.copyFile(ctx, root, at, name)
	}
	match, err := compilePattern(d.pattern())
	if err != nil {
		return err
	}
	src, done, err := d.open(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	if err := root.Mkdir(name, 0o700); err != nil {
		return err
	}
	inner, err := root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer inner.Close()
	_, mode := d.modes()
	t := newTree(inner, d.meter, mode)
	defer t.close()
	switch {
	case format == tarred:
		err = untar(t, src)
	case keepsJar(d.res.Type, name):
		err = d.unpackJar(t, src, match)
	default:
		err = d.unpackZip(t, root, src, info.Size)
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// pattern returns the expression that applies: only a jar's entries are selected.
func (d *download) pattern() string {
	if keepsJar(d.res.Type, d.res.Location.Name()) {
		return d.res.Pattern
	}
	return ""
}

// unpackJar keeps the jar in the directory under its own name. It unpacks matching entries beside it, but never over
// it.
func (d *download) unpackJar(t *tree, src io.Reader, match matcher) error {
	name := d.res.Location.Name()
	jar, err := d.save(t.root, src, name)
	if err != nil {
		return err
	}
	defer jar.Close()
	size, err := jar.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return unzip(t, jar, size, func(entry string) bool {
		return (match == nil || match(entry)) && path.Clean("/"+entry) != "/"+name
	})
}

// unpackZip unpacks a zip file. A zip file's directory is at its end, so a remote file is copied first.
func (d *download) unpackZip(t *tree, root *os.Root, src io.Reader, size int64) error {
	if f, ok := src.(*os.File); ok {
		return unzip(t, f, size, nil)
	}
	part := ".part"
	if part == d.res.Location.Name() {
		part = ".zip"
	}
	f, err := d.save(root, src, part)
	if err != nil {
		return err
	}
	defer f.Close()
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if err := unzip(t, f, size, nil); err != nil {
		return err
	}
	return root.Remove(part)
}

// modes returns the permissions of directories and files. They are YARN's: files are executable and read-only, whatever
// an archive says.
func (d *download) modes() (dir, file fs.FileMode) {
	if d.res.Visibility == Public {
		return 0o755, 0o555
	}
	return 0o700, 0o500
}

// settle gives the entry name of r, and everything below it, the final owner and permissions. It returns the bytes of
// all files. It leaves links alone. A directory is handed over after everything in it, so that its owner can't
// interfere.
func (d *download) settle(r *userfiles.Dir, name string) (size int64, err error) {
	fi, err := r.Stat(name)
	if err != nil {
		return 0, err
	}
	dirMode, fileMode := d.modes()
	switch {
	case fi.Mode()&fs.ModeSymlink != 0:
		if d.owner == nil {
			return 0, nil
		}
		return 0, r.Lchown(name, d.owner.UID, d.owner.GID)
	case !fi.IsDir():
		return fi.Size(), d.settleFile(r, name, fileMode)
	}
	dir, err := r.Enter(name)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	err = dir.Each(func(e fs.FileInfo) error {
		n, err := d.settle(dir, e.Name())
		size += n
		return err
	})
	if err != nil {
		return 0, err
	}
	return size, dir.Set(d.owner.Want(dirMode))
}

// settleFile is settle for a file. A file with several names in the archive may be done already.
func (d *download) settleFile(r *userfiles.Dir, name string, mode fs.FileMode) error {
	f, err := r.Open(userfiles.Anybody, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if d.owner != nil {
		if err := f.Chown(d.owner.UID, d.owner.GID); err != nil {
			return err
		}
	}
	return f.Chmod(mode)
}
