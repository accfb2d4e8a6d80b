package hdfsadapter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	pathpkg "path"
	"slices"
	"strings"
	"syscall"

	"heddle/hdfsadapter/javafs"
	"heddle/yarn/token"
)

// native reports whether this package itself knows a scheme. All others are read and written by Hadoop's FileSystem classes in a JVM.
func native(scheme string) bool { return scheme == SchemeFile || scheme == SchemeHDFS }

// Reaches says what lacks to use the file system of a name: a Java, Hadoop's jars, or a class. It connects to nothing.
func (a *Adapter) Reaches(name string) error {
	at, err := a.As("").Locate(name)
	if err == nil && !native(at.Scheme) {
		err = javafs.Usable(a.conf, at.Scheme)
	}
	return err
}

// usable says what lacks for a scheme. It looks once.
func (a *Adapter) usable(scheme string) error {
	if native(scheme) || a.options.Java != nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	err, looked := a.schemes[scheme]
	if !looked {
		err = javafs.Usable(a.conf, scheme)
		a.schemes[scheme] = err
	}
	return err
}

// others returns the file systems of Java, which start with the first call.
func (a *Adapter) others() *javafs.Files {
	a.javaOnce.Do(func() {
		if a.java = a.options.Java; a.java == nil {
			a.java, a.javaEnd = javafs.ForProcess(a.conf, a.options.JavaAccount, a.options.Host, a.options.Log)
		}
	})
	return a.java
}

// bearing returns the user's tokens, as a container's launch context has them; nil if there are none.
func (f *FS) bearing() []byte {
	if f.credentials != nil || len(f.tokens) == 0 {
		return f.credentials
	}
	var c token.Credentials
	for i, t := range f.tokens {
		c.Tokens = append(c.Tokens, token.NamedToken{Alias: fmt.Sprint(t.Service, "-", i), Token: t})
	}
	b, err := c.Encode(token.FormatWritable)
	if err != nil {
		return nil // the file system says what it lacks
	}
	return b
}

// otherStore is a file system of a scheme that Java knows.
type otherStore struct {
	a  *Adapter
	fs *javafs.FS
	at Location
}

// other returns the file system of a scheme that Java knows.
func (f *FS) other(at Location) (store, error) {
	if err := f.a.usable(at.Scheme); err != nil {
		return nil, err
	}
	by := javafs.Who{User: f.user, Tokens: f.bearing()}
	if f.own {
		by = javafs.Who{}
	}
	return &otherStore{a: f.a, fs: f.a.others().As(by), at: at}, nil
}

func (o *otherStore) place(path string) javafs.Place {
	return javafs.Place{Scheme: o.at.Scheme, Authority: o.at.Authority, Path: path}
}

func otherInfo(i javafs.Info) Info {
	return Info{
		Name: i.Name, Size: i.Size, ModTime: i.ModTime, AccessTime: i.AccessTime, Mode: i.Mode, Owner: i.Owner, Group: i.Group,
		Replication: i.Replication, BlockSize: i.BlockSize,
	}
}

func (o *otherStore) stat(ctx context.Context, path string) (Info, error) {
	i, err := o.fs.Stat(ctx, o.place(path))
	return otherInfo(i), err
}

func (o *otherStore) list(ctx context.Context, path string) ([]Info, error) {
	all, err := o.fs.List(ctx, o.place(path))
	if err != nil {
		return nil, err
	}
	if len(all) == 1 && !all[0].Mode.IsDir() && all[0].Name == pathpkg.Base(path) { // a file's list is the file (FileSystem.listStatus)
		if i, err := o.fs.Stat(ctx, o.place(path)); err == nil && !i.Mode.IsDir() {
			return nil, syscall.ENOTDIR
		}
	}
	out := make([]Info, 0, len(all))
	for _, i := range all {
		out = append(out, otherInfo(i))
	}
	slices.SortFunc(out, func(x, y Info) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

// during ends a context with the adapter, too.
func (o *otherStore) during(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(o.a.ctx, func() { cancel(context.Cause(o.a.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

func (o *otherStore) open(ctx context.Context, path string, here bool) (Reader, error) {
	if here {
		return nil, errors.New("its blocks are on no host in particular")
	}
	ctx, end := o.during(ctx)
	r, err := o.fs.Open(ctx, o.place(path))
	if err != nil {
		end()
		return nil, err
	}
	return &otherReader{r, end}, nil
}

type otherReader struct {
	*javafs.Reader
	end func()
}

func (r *otherReader) Info() Info { return otherInfo(r.Reader.Info) }

func (r *otherReader) Close() error {
	defer r.end()
	return r.Reader.Close()
}

func (o *otherStore) create(ctx context.Context, path string, c CreateOptions) (Writer, error) {
	perm := c.Perm
	if perm == 0 {
		perm = 0o666 &^ o.a.umask
	}
	return o.written(ctx, func(ctx context.Context) (*javafs.Writer, error) {
		return o.fs.Create(ctx, o.place(path), javafs.CreateOptions{Overwrite: c.Overwrite, Perm: perm, Replication: c.Replication, BlockSize: c.BlockSize})
	})
}

func (o *otherStore) append(ctx context.Context, path string) (Writer, error) {
	return o.written(ctx, func(ctx context.Context) (*javafs.Writer, error) { return o.fs.Append(ctx, o.place(path)) })
}

func (o *otherStore) written(ctx context.Context, begin func(context.Context) (*javafs.Writer, error)) (Writer, error) {
	ctx, end := o.during(ctx)
	w, err := begin(ctx)
	if err != nil {
		end()
		return nil, err
	}
	return &otherWriter{w, end}, nil
}

type otherWriter struct {
	*javafs.Writer
	end func()
}

func (w *otherWriter) Close() error {
	defer w.end()
	return w.Writer.Close()
}

func (o *otherStore) rename(ctx context.Context, from, to string, overwrite bool) error {
	return o.fs.Rename(ctx, o.place(from), o.place(to), overwrite)
}

func (o *otherStore) remove(ctx context.Context, path string, recursive bool) error {
	return o.fs.Remove(ctx, o.place(path), recursive)
}

func (o *otherStore) mkdirs(ctx context.Context, path string, perm fs.FileMode) error {
	return o.fs.MkdirAll(ctx, o.place(path), perm)
}

func (o *otherStore) chmod(ctx context.Context, path string, perm fs.FileMode) error {
	return o.fs.Chmod(ctx, o.place(path), perm)
}

func (o *otherStore) chown(ctx context.Context, path, owner, group string) error {
	return o.fs.Chown(ctx, o.place(path), owner, group)
}

func (o *otherStore) chtimes(ctx context.Context, path string, modTime, accessTime int64) error {
	return o.fs.Chtimes(ctx, o.place(path), modTime, accessTime)
}

func (o *otherStore) blocks(ctx context.Context, path string, offset, length int64) ([]Block, error) {
	all, err := o.fs.Blocks(ctx, o.place(path), offset, length)
	if err != nil {
		return nil, err
	}
	out := make([]Block, 0, len(all))
	for _, b := range all {
		block := Block{Offset: b.Offset, Length: b.Length, Hosts: b.Hosts, Names: b.Hosts}
		for _, host := range b.Hosts {
			block.Racks = append(block.Racks, "/default-rack/"+host)
		}
		out = append(out, block)
	}
	return out, nil
}
