// Package staging finds and makes the folders for files that users hand to the containers of their applications. `heddle mr` puts
// jobs there, a pool of executors its program.
//
// A user's folder is <yarn.app.mapreduce.am.staging-dir>/<user>, as Hadoop's is. All users may make folders in the common folder, as in
// /tmp; no other may enter a user's own.
package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/user"
	"strings"

	"heddle/conf"
	"heddle/hdfsadapter"
)

// Key names the folder of all users.
const Key = "yarn.app.mapreduce.am.staging-dir"

// Root is the folder for a user's staged files.
type Root struct {
	Files *hdfsadapter.FS
	Own   string // the folder's full name
	Local bool   // it is a folder of this machine

	base string // of all users
	user string // the owner of files that the user makes there
}

// New finds a user's folder. Prepare makes it.
func New(files *hdfsadapter.FS, c *conf.Config, name string) (*Root, error) {
	base, ok := c.Get(Key)
	if !ok || base == "" {
		base = "/tmp/hadoop-yarn/staging"
	}
	at, err := files.Locate(strings.TrimRight(base, "/"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Key, err)
	}
	r := &Root{Files: files, Local: at.Scheme == hdfsadapter.SchemeFile, base: at.String(), user: name}
	r.Own = strings.TrimRight(r.base, "/") + "/" + name
	if r.Local {
		// The owner of local files is the user of this process, whichever user submits.
		if u, err := user.Current(); err == nil {
			r.user = u.Username
		}
	}
	return r, nil
}

// Error says that files can't be staged.
type Error struct {
	Folder string
	Err    error
}

func (e *Error) Error() string {
	return fmt.Sprintf("staging folder %s: %v (%s)", e.Folder, e.Err, Key)
}

func (e *Error) Unwrap() error { return e.Err }

// shared are the permissions of the folder of all users.
const shared = 0o777 | fs.ModeSticky

// Prepare makes the folders. Its errors are of type *Error.
func (r *Root) Prepare(ctx context.Context) error {
	_, err := r.Files.Stat(ctx, r.base)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.Files.MkdirAll(ctx, r.base, shared); err == nil {
			err = r.Files.Chmod(ctx, r.base, shared)
		}
		// Another user may have made it in between.
		if _, there := r.Files.Stat(ctx, r.base); there == nil && errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	if err != nil {
		return &Error{r.base, err}
	}
	err = r.Files.MkdirAll(ctx, r.Own, 0o700)
	if errors.Is(err, fs.ErrPermission) {
		if info, e := r.Files.Stat(ctx, r.base); e == nil {
			err = fmt.Errorf("it belongs to %s and has mode %#o: its owner, or an administrator, lets others in with chmod 1777; or name another one: %w",
				info.Owner, info.Mode.Perm(), err)
		}
		return &Error{r.base, err}
	}
	if err != nil {
		return &Error{r.Own, err}
	}
	info, err := r.Files.Stat(ctx, r.Own)
	switch {
	case err != nil:
		return &Error{r.Own, err}
	case info.Owner != r.user:
		return &Error{r.Own, fmt.Errorf("it belongs to %s, not to %s: remove it", info.Owner, r.user)}
	case info.Mode.Perm()&0o022 != 0:
		if err := r.Files.Chmod(ctx, r.Own, 0o700); err != nil {
			return &Error{r.Own, err}
		}
	}
	return nil
}
