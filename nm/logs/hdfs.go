package logs

import (
	"context"
	"io"
	"io/fs"

	"heddle/hdfsadapter"
)

// OnHDFS aggregates to HDFS, or to any other file system of the adapter.
func OnHDFS(a *hdfsadapter.Adapter) Remote { return adapted{a} }

type adapted struct{ a *hdfsadapter.Adapter }

func (r adapted) As(user string) FS { return adaptedFS{r.a.As(user)} }

func (r adapted) Bearing(user string, credentials []byte) FS {
	return adaptedFS{r.a.Bearing(user, credentials)}
}

type adaptedFS struct{ *hdfsadapter.FS }

func infoFrom(i hdfsadapter.Info) FileInfo {
	return FileInfo{Name: i.Name, Size: i.Size, ModTime: i.ModTime, Mode: i.Mode}
}

func (f adaptedFS) Create(ctx context.Context, name string, perm fs.FileMode) (io.WriteCloser, error) {
	return f.FS.Create(ctx, name, hdfsadapter.CreateOptions{Overwrite: true, Perm: perm})
}

type adaptedFile struct{ hdfsadapter.Reader }

func (f adaptedFile) Size() int64 { return f.Info().Size }

func (f adaptedFS) Open(ctx context.Context, name string) (File, error) {
	r, err := f.FS.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return adaptedFile{r}, nil
}

func (f adaptedFS) Stat(ctx context.Context, name string) (FileInfo, error) {
	i, err := f.FS.Stat(ctx, name)
	return infoFrom(i), err
}

func (f adaptedFS) List(ctx context.Context, name string) ([]FileInfo, error) {
	infos, err := f.FS.List(ctx, name)
	if err != nil {
		return nil, err
	}
	out := make([]FileInfo, 0, len(infos))
	for _, i := range infos {
		out = append(out, infoFrom(i))
	}
	return out, nil
}

func (f adaptedFS) Rename(ctx context.Context, from, to string) error {
	return f.FS.Rename(ctx, from, to, false)
}

func (f adaptedFS) Remove(ctx context.Context, name string, recursive bool) error {
	if recursive {
		return f.RemoveAll(ctx, name)
	}
	return f.FS.Remove(ctx, name)
}
