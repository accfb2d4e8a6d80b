package disks

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Owner is whom folders and files of a container are given to. The zero value leaves them to this process's user.
type Owner struct {
	UID, GID int
	Change   bool
}

// Init makes the folders below each local folder that are there from the start.
func (d *Disks) Init() error {
	for _, local := range d.ReadableLocal() {
		for _, f := range []struct {
			path string
			mode fs.FileMode
		}{
			{FileCache(local), 0o755},
			{Users(local), 0o755},
			{Private(local), 0o700},
		} {
			if err := makeFolder(f.path, f.mode, Owner{}); err != nil {
				return fmt.Errorf("prepare local folder %s: %w", local, err)
			}
		}
	}
	return nil
}

// MakeApp makes the folders of a user's application on every disk that can be written to. It fails when that is
// possible nowhere.
func (d *Disks) MakeApp(user, app string, owner Owner) error {
	if user == "." || !filepath.IsLocal(user) || filepath.Base(user) != user {
		return fmt.Errorf("user %q can't have a folder", user)
	}
	locals, logs := d.GoodLocal(), d.GoodLogs()
	err := onAny(locals, "yarn.nodemanager.local-dirs", func(local string) error {
		for _, f := range []struct {
			path string
			mode fs.FileMode
		}{
			{User(local, user), 0o750},
			{Apps(local, user), 0o710},
			{UserFileCache(local, user), 0o710},
			{App(local, user, app), 0o710},
			{AppFileCache(local, user, app), 0o710},
		} {
			if err := makeFolder(f.path, f.mode, owner); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = onAny(logs, "yarn.nodemanager.log-dirs", func(log string) error {
			return makeFolder(AppLogs(log, app), 0o710, owner)
		})
	}
	if err != nil {
		return fmt.Errorf("make the folders of %s of user %s: %w", app, user, err)
	}
	return nil
}

// Places are the folders of one container.
type Places struct {
	Local   string // the local folder that was picked
	Work    string
	Private string
	Log     string   // the log folder that was picked, for the container
	Logs    []string // the container's log folder on every disk
}

// MakeContainer picks disks for a container of an application (see MakeApp) and makes its folders there.
func (d *Disks) MakeContainer(user, app, container string, owner Owner) (Places, error) {
	var p Places
	wrap := func(err error) (Places, error) {
		return Places{}, fmt.Errorf("make the folders of %s: %w", container, err)
	}
	var err error
	if p.Local, err = d.PickLocal(); err != nil {
		return wrap(err)
	}
	log, err := d.PickLog()
	if err != nil {
		return wrap(err)
	}
	p.Work = Work(p.Local, user, app, container)
	p.Private = PrivateContainer(p.Local, app, container)
	p.Log = ContainerLogs(log, app, container)
	for _, f := range []struct {
		path  string
		mode  fs.FileMode
		owner Owner
	}{
		{PrivateApp(p.Local, app), 0o755, Owner{}},
		{p.Private, 0o755, Owner{}},
		{p.Work, 0o710, owner},
		{filepath.Join(p.Work, TempFolder), 0o710, owner},
	} {
		if err := makeFolder(f.path, f.mode, f.owner); err != nil {
			return wrap(err)
		}
	}
	err = onAny(d.GoodLogs(), "yarn.nodemanager.log-dirs", func(log string) error {
		path := ContainerLogs(log, app, container)
		if err := makeFolder(path, 0o710, owner); err != nil {
			if path == p.Log {
				return fmt.Errorf("log folder: %w", err)
			}
			return err
		}
		p.Logs = append(p.Logs, path)
		return nil
	})
	if err != nil {
		return wrap(err)
	}
	if len(p.Logs) > 0 && !slices.Contains(p.Logs, p.Log) {
		p.Log = p.Logs[0]
	}
	return p, nil
}

// onAny calls f for every folder; it fails when f fails for all.
func onAny(folders []string, key string, f func(string) error) error {
	if len(folders) == 0 {
		return fmt.Errorf("no folder of %s can be written to", key)
	}
	var errs []error
	for _, folder := range folders {
		if err := f(folder); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == len(folders) {
		return errors.Join(errs...)
	}
	return nil
}

// makeFolder makes one folder, or takes one that is there, with that mode and owner. The folder may lie in another
// that belongs to a user, who must not be able to lead us elsewhere: the last element of path is not followed if it is
// a link, and mode and owner are set through a descriptor of what was found to be a folder.
func makeFolder(path string, mode fs.FileMode, owner Owner) error {
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if owner.Change {
		if err := f.Chown(owner.UID, owner.GID); err != nil {
			return err
		}
	}
	return f.Chmod(mode)
}
