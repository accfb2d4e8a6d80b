package hdfsadapter

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
)

// at calls do with the store of a name, and completes its error.
func (f *FS) at(ctx context.Context, op, name string, do func(s store, at Location) error) error {
	at, err := f.Locate(name)
	if err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	if err := ctx.Err(); err != nil {
		return pathError(op, at, err)
	}
	s, err := f.store(at)
	if err != nil {
		return pathError(op, at, err)
	}
	return pathError(op, at, do(s, at))
}

// Stat returns the attributes of a file or directory. It follows symbolic links.
func (f *FS) Stat(ctx context.Context, name string) (info Info, err error) {
	err = f.at(ctx, "stat", name, func(s store, at Location) error {
		info, err = s.stat(ctx, at.Path)
		info = info.at(at)
		return err
	})
	if err != nil {
		return Info{}, err
	}
	return info, nil
}

// List returns the entries of a directory, sorted by name.
func (f *FS) List(ctx context.Context, name string) (infos []Info, err error) {
	err = f.at(ctx, "list", name, func(s store, at Location) error {
		infos, err = s.list(ctx, at.Path)
		for i := range infos {
			infos[i] = infos[i].at(at.join(infos[i].Name))
		}
		return err
	})
	return infos, err
}

// Open opens a file for reading. ctx must last as long as the file is used: when it ends, reads fail.
func (f *FS) Open(ctx context.Context, name string) (r Reader, err error) {
	return f.open(ctx, name, false)
}

// OpenHere is Open for a caller that wants this host's replicas alone: a read of a block that has none on Options.Host fails
// at once. Local files are always here.
func (f *FS) OpenHere(ctx context.Context, name string) (Reader, error) {
	return f.open(ctx, name, true)
}

func (f *FS) open(ctx context.Context, name string, here bool) (r Reader, err error) {
	err = f.at(ctx, "open", name, func(s store, at Location) error {
		r, err = s.open(ctx, at.Path, here)
		if err == nil {
			r = &namedReader{r, at}
		}
		return err
	})
	return r, err
}

// Create makes a file and its missing parent directories. ctx must last as long as the file is used: when it ends,
// writes fail.
func (f *FS) Create(ctx context.Context, name string, o CreateOptions) (w Writer, err error) {
	err = f.at(ctx, "create", name, func(s store, at Location) error {
		w, err = s.create(ctx, at.Path, o)
		if err == nil {
			w = &namedWriter{w, at}
		}
		return err
	})
	return w, err
}

// Append opens a file for writing at its end. ctx must last as long as the file is used.
func (f *FS) Append(ctx context.Context, name string) (w Writer, err error) {
	err = f.at(ctx, "append", name, func(s store, at Location) error {
		w, err = s.append(ctx, at.Path)
		if err == nil {
			w = &namedWriter{w, at}
		}
		return err
	})
	return w, err
}

// Rename moves a file or directory within its file system. It fails if the target exists, unless overwrite is set. Then
// a file replaces a file, and a directory an empty directory.
func (f *FS) Rename(ctx context.Context, from, to string, overwrite bool) error {
	target, err := f.Locate(to)
	if err != nil {
		return &fs.PathError{Op: "rename", Path: to, Err: err}
	}
	return f.at(ctx, "rename", from, func(s store, at Location) error {
		if at.Scheme != target.Scheme || at.Authority != target.Authority {
			return &toError{target, syscall.EXDEV}
		}
		if at.Path == target.Path {
			if _, err := s.stat(ctx, at.Path); err != nil {
				return err
			}
			return &toError{target, fs.ErrExist}
		}
		if err := s.rename(ctx, at.Path, target.Path, overwrite); err != nil {
			return &toError{target, err}
		}
		return nil
	})
}

// toError adds the target to the error of a rename.
type toError struct {
	to  Location
	err error
}

func (e *toError) Error() string { return "to " + e.to.String() + ": " + e.err.Error() }
func (e *toError) Unwrap() error { return e.err }

// Remove removes a file or an empty directory.
func (f *FS) Remove(ctx context.Context, name string) error {
	return f.at(ctx, "remove", name, func(s store, at Location) error { return s.remove(ctx, at.Path, false) })
}

// RemoveAll removes a file, or a directory with its contents. It returns nil if name doesn't exist.
func (f *FS) RemoveAll(ctx context.Context, name string) error {
	return f.at(ctx, "remove", name, func(s store, at Location) error {
		if err := s.remove(ctx, at.Path, true); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// MkdirAll makes a directory and its missing parents with exactly the permissions of perm; 0 stands for 0777 less
// fs.permissions.umask-mode. It doesn't change an existing directory. If a file has the name, the error is fs.ErrExist.
func (f *FS) MkdirAll(ctx context.Context, name string, perm fs.FileMode) error {
	return f.at(ctx, "mkdir", name, func(s store, at Location) error {
		if perm == 0 {
			perm = 0o777 &^ f.a.umask
		}
		return s.mkdirs(ctx, at.Path, perm)
	})
}

// Chmod sets permissions: the nine bits and fs.ModeSticky.
func (f *FS) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return f.at(ctx, "chmod", name, func(s store, at Location) error { return s.chmod(ctx, at.Path, perm) })
}

// Chown sets owner and group by their names. An empty name changes nothing.
func (f *FS) Chown(ctx context.Context, name, owner, group string) error {
	return f.at(ctx, "chown", name, func(s store, at Location) error { return s.chown(ctx, at.Path, owner, group) })
}

// Chtimes sets the times of modification and access, in ms since 1970.
func (f *FS) Chtimes(ctx context.Context, name string, modTime, accessTime int64) error {
	return f.at(ctx, "chtimes", name, func(s store, at Location) error { return s.chtimes(ctx, at.Path, modTime, accessTime) })
}

// Blocks returns the places of a file's blocks that overlap the length bytes from offset on, in the order of the file.
// A local file is one block on this host.
func (f *FS) Blocks(ctx context.Context, name string, offset, length int64) (blocks []Block, err error) {
	err = f.at(ctx, "blocks", name, func(s store, at Location) error {
		if offset < 0 || length < 0 {
			return fs.ErrInvalid
		}
		if length == 0 {
			return nil
		}
		blocks, err = s.blocks(ctx, at.Path, offset, length)
		return err
	})
	return blocks, err
}

// namedReader adds the file's name to errors and to the Info.
type namedReader struct {
	Reader
	at Location
}

func (r *namedReader) Info() Info { return r.Reader.Info().at(r.at) }

func (r *namedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, r.named("read", err)
}

func (r *namedReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := r.Reader.ReadAt(p, off)
	return n, r.named("read", err)
}

func (r *namedReader) Seek(off int64, whence int) (int64, error) {
	n, err := r.Reader.Seek(off, whence)
	return n, r.named("seek", err)
}

func (r *namedReader) Close() error { return pathError("close", r.at, r.Reader.Close()) }

// named returns io.EOF unchanged, because readers compare with it.
func (r *namedReader) named(op string, err error) error {
	if err == nil || isEOF(err) {
		return err
	}
	return pathError(op, r.at, err)
}

type namedWriter struct {
	Writer
	at Location
}

func (w *namedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, pathError("write", w.at, err)
}

func (w *namedWriter) Flush() error { return pathError("flush", w.at, w.Writer.Flush()) }
func (w *namedWriter) Close() error { return pathError("close", w.at, w.Writer.Close()) }
