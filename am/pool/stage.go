package pool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"heddle/am/client"
	"heddle/hdfsadapter"
)

// stage puts the program where nodes can read it: it is there already where the cluster's default file system is the nodes' own. Otherwise it
// is copied, once, into the folder for the user's staged files.
func (c *Containers) stage(ctx context.Context) (client.Resource, error) {
	binary := c.Binary
	if binary == "" {
		var err error
		if binary, err = os.Executable(); err != nil {
			return client.Resource{}, err
		}
	}
	adapter, err := hdfsadapter.New(c.Conf, hdfsadapter.Options{Log: c.Log})
	if err != nil {
		return client.Resource{}, err
	}
	defer adapter.Close()
	files := adapter.As(c.User)
	base, ok := c.Conf.Get("yarn.app.mapreduce.am.staging-dir")
	if !ok || base == "" {
		base = "/tmp/hadoop-yarn/staging"
	}
	at, err := files.Locate(strings.TrimRight(base, "/"))
	if err != nil {
		return client.Resource{}, err
	}
	local, err := os.Stat(binary)
	if err != nil {
		return client.Resource{}, err
	}
	name := "file://" + binary
	if at.Scheme != hdfsadapter.SchemeFile {
		folder := at.String() + "/" + c.User + "/.staging/heddle"
		name = fmt.Sprintf("%s/%d-%d", folder, local.Size(), local.ModTime().UnixMilli())
		if err := copyOnce(ctx, files, binary, folder, name); err != nil {
			return client.Resource{}, fmt.Errorf("staging %s: %w", binary, err)
		}
	}
	info, err := files.Stat(ctx, name)
	if err != nil {
		return client.Resource{}, err
	}
	return client.Resource{URL: info.Path, Size: info.Size, ModTime: info.ModTime, Type: client.File, Visibility: client.Private}, nil
}

// copyOnce copies a file if it isn't there. Nobody sees a part of it.
func copyOnce(ctx context.Context, files *hdfsadapter.FS, from, folder, to string) error {
	if _, err := files.Stat(ctx, to); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := files.MkdirAll(ctx, folder, 0o700); err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	part := fmt.Sprintf("%s.%d", to, os.Getpid())
	w, err := files.Create(ctx, part, hdfsadapter.CreateOptions{Perm: 0o700})
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, f, make([]byte, 1<<20))
	if e := w.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = files.Rename(ctx, part, to, true)
	}
	if err != nil {
		return errors.Join(err, files.Remove(ctx, part))
	}
	return nil
}
