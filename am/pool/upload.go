package pool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"heddle/am/client"
	"heddle/am/staging"
	"heddle/hdfsadapter"
	"heddle/yarn/token"
)

// upload puts the program where nodes can read it: it is there already where the cluster's default file system is the nodes' own. Otherwise it
// is copied, once, into the folder for the user's staged files. The credentials get what nodes need to read it.
func (c *Containers) upload(ctx context.Context, creds *token.Credentials) (client.Resource, error) {
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
	root, err := staging.New(files, c.Conf, c.User)
	if err != nil {
		return client.Resource{}, err
	}
	name := "file://" + binary
	if !root.Local {
		if name, err = copyOnce(ctx, root, binary); err != nil {
			return client.Resource{}, fmt.Errorf("staging %s: %w", binary, err)
		}
	}
	info, err := files.Stat(ctx, name)
	if err != nil {
		return client.Resource{}, err
	}
	if err := staging.Tokens(ctx, files, c.Conf, creds, info.Path); err != nil {
		return client.Resource{}, err
	}
	return client.Resource{
		URL: info.Path, Size: info.Size, ModTime: info.ModTime, Type: client.File,
		Visibility: client.Private,
	}, nil
}

// copyOnce copies a program if it isn't there, and returns the copy's name. No reader sees a part of it. The name can be guessed, so that the
// copy lies where only the user can have put it.
func copyOnce(ctx context.Context, root *staging.Root, from string) (to string, err error) {
	if err := root.Prepare(ctx); err != nil {
		return "", err
	}
	f, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	folder := root.Own + "/.staging/heddle"
	to = fmt.Sprintf("%s/%d-%d", folder, info.Size(), info.ModTime().UnixMilli())
	if _, err := root.Files.Stat(ctx, to); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return to, err
	}
	if err := root.Files.MkdirAll(ctx, folder, 0o700); err != nil {
		return "", err
	}
	return to, write(ctx, root.Files, f, to)
}

// write makes a file that is there when it is whole.
func write(ctx context.Context, files *hdfsadapter.FS, from io.Reader, to string) error {
	// Processes on other machines, and ones that were killed, may have had the same id as this one.
	part := to + "." + rand.Text()
	w, err := files.Create(ctx, part, hdfsadapter.CreateOptions{Perm: 0o700})
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{from}, make([]byte, 1<<20))
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
