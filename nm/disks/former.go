package disks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
	"heddle/internal/trust"
	"heddle/internal/within"
)

// YARN's NodeManager has an account of its own, such as yarn, to which its local and log folders belong. A NodeManager of root's that gets these folders
// takes them over: as long as they belong to that account, its processes can replace what this node keeps there.

// leaving is part of the names of what a NodeManager is about to delete.
const leaving = "_DEL_"

// Takeover is a folder of another account's NodeManager that this one makes its own.
type Takeover struct {
	Path  string
	Owner int      // user id
	Below []string // names in it that belong to the account, too, and are taken over
}

// Back returns the command that gives the folder back.
func (t *Takeover) Back() string {
	paths := []string{t.Path}
	for _, name := range t.Below {
		paths = append(paths, filepath.Join(t.Path, name))
	}
	return fmt.Sprintf("chown %d %s", t.Owner, strings.Join(paths, " "))
}

// maxFormer is how many entries a folder may have that is taken over; a node's log folder has one for each application whose logs it keeps.
const maxFormer = 100_000

// FormerOf returns how a local or log folder is taken over, nil if it isn't: if it is root's already, or its owner isn't an account that Config.Former names,
// another can write to it or replace a parent, or anything is in it that isn't a NodeManager's. It changes nothing.
func (c *Config) FormerOf(path string, local bool) *Takeover {
	if c.Former == nil || os.Geteuid() != 0 || trust.Check(filepath.Dir(path)) != nil {
		return nil
	}
	owner, ok := ownerOf(path)
	if !ok || owner == 0 || !c.Former(owner) {
		return nil
	}
	entries, err := bounded.Names(path, maxFormer)
	if err != nil {
		return nil
	}
	t := &Takeover{Path: path, Owner: owner}
	for _, name := range entries {
		switch {
		case strings.Contains(name, leaving):
		case local && slices.Contains(c.Inside, name):
			its, ok := ownerOf(filepath.Join(path, name))
			if !ok || its != owner && its != 0 {
				return nil
			}
			if its == owner {
				t.Below = append(t.Below, name)
			}
		case !local && strings.HasPrefix(name, "application_") && isFolder(filepath.Join(path, name)):
		default:
			return nil
		}
	}
	return t
}

func isFolder(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}

// ownerOf returns the owner of a folder that no other can write to.
func ownerOf(path string) (uid int, ok bool) {
	fi, err := os.Lstat(path)
	if err != nil || !fi.IsDir() || fi.Mode().Perm()&0o022 != 0 {
		return 0, false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return int(st.Uid), ok
}

// do takes the folder over. The outer one comes first: then the account can't replace those in it.
func (t *Takeover) do() error {
	dir, err := unix.Open(t.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: t.Path, Err: err}
	}
	defer unix.Close(dir)
	errs := []error{t.own(dir, t.Path)}
	for _, name := range t.Below {
		path := filepath.Join(t.Path, name)
		below, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			errs = append(errs, &fs.PathError{Op: "open", Path: path, Err: err})
			continue
		}
		errs = append(errs, t.own(below, path))
		_ = unix.Close(below) // nothing was written
	}
	return errors.Join(errs...)
}

// own gives an open folder to root if it belongs to the account and to no other.
func (t *Takeover) own(fd int, path string) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && (int(st.Uid) != t.Owner || st.Mode&0o022 != 0) {
		err = errors.New("it has changed meanwhile")
	}
	if err == nil {
		err = unix.Fchown(fd, 0, -1)
	}
	if err != nil {
		return &fs.PathError{Op: "chown", Path: path, Err: err}
	}
	return nil
}

// takeOver takes over the folders of another account's NodeManager, and says how they are given back.
func (d *Disks) takeOver() error {
	var errs []error
	ctx, cancel := context.WithTimeout(context.Background(), d.cfg.Patience)
	defer cancel()
	for _, l := range []*Folders{d.Local, d.Logs} {
		for _, f := range l.all {
			// A disk that doesn't answer is found bad later.
			t, _ := within.Do(ctx, func() (*Takeover, error) { return d.cfg.FormerOf(f.path, l == d.Local), nil })
			if t == nil {
				continue
			}
			if _, err := within.Do(ctx, func() (struct{}, error) { return struct{}{}, t.do() }); err != nil {
				errs = append(errs, err)
				continue
			}
			d.log.WithField("folder", f.path).WithField("owner", t.Owner).
				Warnf("%s belonged to the account of another NodeManager, which runs no containers here, and is root's now; before that NodeManager starts here again: %s", l.name, t.Back())
		}
	}
	return errors.Join(errs...)
}
