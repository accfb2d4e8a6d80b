package hdfsadapter

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"heddle/hdfsadapter/position"
	"heddle/internal/bounded"
)

// localBlockSize is the block size that local files report (Hadoop: fs.local.block.size). Some programs split files by
// it.
const localBlockSize = 32 << 20

// localStore is the local file system, with the rights of this process.
type localStore struct {
	host  string
	umask fs.FileMode

	mu     sync.Mutex
	users  map[uint32]string
	groups map[uint32]string
}

func newLocalStore(host string, umask fs.FileMode) *localStore {
	return &localStore{host: host, umask: umask, users: map[uint32]string{}, groups: map[uint32]string{}}
}

func (l *localStore) info(fi fs.FileInfo) Info {
	i := Info{
		Name:    fi.Name(),
		ModTime: fi.ModTime().UnixMilli(),
		Mode:    fi.Mode() & (fs.ModePerm | fs.ModeDir | fs.ModeSticky),
	}
	if !fi.IsDir() {
		i.Size, i.Replication, i.BlockSize = fi.Size(), 1, localBlockSize
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		i.AccessTime = accessTime(st)
		l.mu.Lock()
		defer l.mu.Unlock()
		i.Owner = nameOf(l.users, st.Uid, func(id string) (string, error) {
			u, err := user.LookupId(id)
			if err != nil {
				return "", err
			}
			return u.Username, nil
		})
		i.Group = nameOf(l.groups, st.Gid, func(id string) (string, error) {
			g, err := user.LookupGroupId(id)
			if err != nil {
				return "", err
			}
			return g.Name, nil
		})
	}
	return i
}

// nameOf caches names, which otherwise come from a file. An id without a name stands for itself.
func nameOf(known map[uint32]string, id uint32, lookUp func(string) (string, error)) string {
	if name, ok := known[id]; ok {
		return name
	}
	text := strconv.FormatUint(uint64(id), 10)
	name, err := lookUp(text)
	if err != nil {
		name = text
	}
	known[id] = name
	return name
}

func (l *localStore) stat(_ context.Context, path string) (Info, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return Info{}, err
	}
	return l.info(fi), nil
}

func (l *localStore) list(ctx context.Context, path string) ([]Info, error) {
	names, err := bounded.Names(path, 1<<20)
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(names))
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fi, err := os.Stat(filepath.Join(path, name))
		if errors.Is(err, fs.ErrNotExist) {
			fi, err = os.Lstat(filepath.Join(path, name)) // a dangling link
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has just been removed
		}
		if err != nil {
			return nil, err
		}
		i := l.info(fi)
		i.Name = name
		out = append(out, i)
	}
	return out, nil
}

func (l *localStore) open(ctx context.Context, path string, _ bool) (Reader, error) {
	// Opening a pipe without a writer would block.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	switch {
	case err != nil:
	case fi.IsDir():
		err = syscall.EISDIR
	case !fi.Mode().IsRegular():
		err = errors.New("is not a regular file")
	default:
		return &localReader{ctx: ctx, f: f, info: l.info(fi)}, nil
	}
	_ = f.Close() // no data is lost
	return nil, err
}

type localReader struct {
	ctx    context.Context
	f      *os.File
	info   Info
	pos    int64
	closed atomic.Bool
}

func (r *localReader) Info() Info { return r.info }

func (r *localReader) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.pos)
	r.pos += int64(n)
	if n > 0 && isEOF(err) {
		err = nil
	}
	return n, err
}

// ReadAt ends at the size that the file had when it was opened, as on HDFS.
func (r *localReader) ReadAt(p []byte, off int64) (int, error) {
	if r.closed.Load() {
		return 0, fs.ErrClosed
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, fs.ErrInvalid
	}
	if len(p) == 0 {
		return 0, nil
	}
	left := r.info.Size - off
	if left <= 0 {
		return 0, io.EOF
	}
	short := int64(len(p)) > left
	if short {
		p = p[:left]
	}
	n, err := r.f.ReadAt(p, off)
	if short && err == nil {
		err = io.EOF
	}
	return n, err
}

func (r *localReader) Seek(off int64, whence int) (int64, error) {
	return position.Seek(&r.pos, r.info.Size, off, whence)
}

func (r *localReader) Close() error {
	r.closed.Store(true)
	return r.f.Close()
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) }

func (l *localStore) create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !o.Overwrite {
		flags |= os.O_EXCL
	}
	perm := o.Perm
	if perm == 0 {
		perm = 0o666 &^ l.umask
	}
	f, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, unixMode(perm))
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o777&^l.umask); err == nil {
			f, err = os.OpenFile(path, flags|syscall.O_NONBLOCK, unixMode(perm))
		}
	}
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(unixMode(perm)); err != nil { // the umask may have removed bits
		_ = f.Close() // no data is lost
		return nil, err
	}
	return &localWriter{ctx, f}, nil
}

func (l *localStore) append(ctx context.Context, path string) (Writer, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &localWriter{ctx, f}, nil
}

type localWriter struct {
	ctx context.Context
	f   *os.File
}

func (w *localWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.f.Write(p)
}

func (w *localWriter) Flush() error { return w.ctx.Err() }

// Close syncs the file to the disk. So a file that others have been told about, such as a job's staged one, survives a
// power cut.
func (w *localWriter) Close() error {
	var err error
	if w.ctx.Err() == nil {
		err = w.f.Sync()
	}
	return errors.Join(err, w.f.Close(), w.ctx.Err())
}

func (l *localStore) rename(_ context.Context, from, to string, overwrite bool) error {
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	if !overwrite {
		return renameNew(from, to)
	}
	return syscall.Rename(from, to) // os.Rename refuses to replace an empty directory
}

// renameNewSlowly checks first and then renames: in between another may create the target.
func renameNewSlowly(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syscall.Rename(from, to) // os.Rename refuses to replace an empty directory
}

func (l *localStore) remove(_ context.Context, path string, recursive bool) error {
	if recursive {
		return os.RemoveAll(path)
	}
	return os.Remove(path)
}

func (l *localStore) mkdirs(_ context.Context, path string, perm fs.FileMode) error {
	fi, err := os.Stat(path)
	switch {
	case err == nil && fi.IsDir():
		return nil
	case err == nil:
		return fs.ErrExist
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	missing := []string{path}
	for dir := filepath.Dir(path); dir != missing[len(missing)-1]; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		missing = append(missing, dir)
	}
	if err := os.MkdirAll(path, perm.Perm()); err != nil {
		return err
	}
	for _, dir := range missing { // the umask may have removed bits
		if err := os.Chmod(dir, unixMode(perm)); err != nil {
			return err
		}
	}
	return nil
}

func (l *localStore) chmod(_ context.Context, path string, perm fs.FileMode) error {
	return os.Chmod(path, unixMode(perm))
}

// unixMode keeps only the bits that all file systems support.
func unixMode(m fs.FileMode) fs.FileMode { return m & (fs.ModePerm | fs.ModeSticky) }

func (l *localStore) chown(_ context.Context, path, owner, group string) error {
	uid, gid := -1, -1
	if owner != "" {
		u, err := user.Lookup(owner)
		if err != nil {
			return err
		}
		if uid, err = strconv.Atoi(u.Uid); err != nil {
			return err
		}
	}
	if group != "" {
		g, err := user.LookupGroup(group)
		if err != nil {
			return err
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return err
		}
	}
	return os.Chown(path, uid, gid)
}

func (l *localStore) chtimes(_ context.Context, path string, modTime, accessTime int64) error {
	return os.Chtimes(path, time.UnixMilli(accessTime), time.UnixMilli(modTime))
}

func (l *localStore) blocks(_ context.Context, path string, offset, _ int64) ([]Block, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return nil, syscall.EISDIR
	}
	if offset >= fi.Size() {
		return nil, nil
	}
	return []Block{{Length: fi.Size(), Hosts: []string{l.host}, Names: []string{l.host}, Racks: []string{"/default-rack/" + l.host}}}, nil
}
