package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"heddle/nm/disks"
	"heddle/nm/localizer"
	"heddle/yarn/records"
)

// Names of what lies in a container's folders, besides those that package launch has.
const (
	tmpFolder  = "tmp"
	statusFile = "status" // exit code, see launch
	outputFile = "output" // what the shells around the container say
)

// places are the folders of a container.
type places struct {
	Work    string   `json:"work"`
	Private string   `json:"private"` // only the NodeManager gets in
	Log     string   `json:"log"`     // what <LOG_DIR> stands for
	Logs    []string `json:"logs"`    // one on every disk
}

// privateApp is the folder of what only the NodeManager may see of an application.
func privateApp(local string, app records.ApplicationID) string {
	return filepath.Join(local, localizer.NMPrivate, app.String())
}

// appLogs is the folder of the logs of an application's containers.
func appLogs(logs string, app records.ApplicationID) string { return filepath.Join(logs, app.String()) }

// makePlaces picks disks for a container and makes its folders there. The application's local folders are there
// already (Localizer.InitApplication). The work folder is returned open: its parent belongs to the user, who could put
// something else in its place.
func makePlaces(d *disks.Disks, user string, id records.ContainerID, owner *localizer.Owner) (p places, work *os.Root, err error) {
	app, name := id.Attempt.App, id.String()
	local, err := d.Local.Pick()
	if err != nil {
		return places{}, nil, err
	}
	p.Private = filepath.Join(privateApp(local, app), name)
	if err := makePrivate(local, p.Private); err != nil {
		return places{}, nil, err
	}
	p.Work = filepath.Join(localizer.AppDir(local, user, app), name)
	log, err := d.Logs.Pick()
	if err != nil {
		return places{}, nil, err
	}
	for _, l := range d.Logs.Writable() {
		dir := filepath.Join(appLogs(l, app), name)
		if err := makeLogs(l, app, name, owner); err != nil {
			if l == log {
				return places{}, nil, fmt.Errorf("log folder: %w", err)
			}
			continue // another disk's; it will be noticed by the next check of the disks
		}
		p.Logs = append(p.Logs, dir)
		if l == log {
			p.Log = dir
		}
	}
	if p.Log == "" {
		return places{}, nil, fmt.Errorf("log folder: %s can't be written to any more", log)
	}
	work, err = makeWork(localizer.AppDir(local, user, app), name, owner)
	return p, work, err
}

// makePrivate makes a folder of the NodeManager's own.
func makePrivate(local, path string) error {
	top := filepath.Join(local, localizer.NMPrivate)
	if err := os.MkdirAll(top, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(top, 0o700); err != nil { // it may be older than we are
		return err
	}
	return os.MkdirAll(path, 0o755)
}

// makeLogs makes a container's log folder and the application's above it. The latter stays the NodeManager's, so that
// the user can't rename what is in it.
func makeLogs(logs string, app records.ApplicationID, name string, owner *localizer.Owner) error {
	root, err := os.OpenRoot(logs)
	if err != nil {
		return err
	}
	defer root.Close()
	group := -1
	if owner != nil {
		group = owner.GID
	}
	appRoot, err := enter(root, app.String(), 0o710, -1, group)
	if err != nil {
		return err
	}
	defer appRoot.Close()
	return makeOwned(appRoot, name, owner)
}

func makeWork(appDir, name string, owner *localizer.Owner) (*os.Root, error) {
	root, err := os.OpenRoot(appDir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	uid, gid := ids(owner)
	work, err := enter(root, name, 0o710, uid, gid)
	if err != nil {
		return nil, err
	}
	if err := makeOwned(work, tmpFolder, owner); err != nil {
		work.Close()
		return nil, err
	}
	return work, nil
}

func makeOwned(root *os.Root, name string, owner *localizer.Owner) error {
	uid, gid := ids(owner)
	sub, err := enter(root, name, 0o710, uid, gid)
	if err != nil {
		return err
	}
	return sub.Close()
}

func ids(owner *localizer.Owner) (uid, gid int) {
	if owner == nil {
		return -1, -1
	}
	return owner.UID, owner.GID
}

// enter makes the folder name below root, or takes it if it is there, and returns it open, with that mode and owner
// (−1: as it is). A link in its place is refused, also one that is put there at the same moment.
func enter(root *os.Root, name string, mode fs.FileMode, uid, gid int) (*os.Root, error) {
	if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	was, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root.Name(), name)
	if !was.IsDir() {
		return nil, fmt.Errorf("%s: %w", path, syscall.ENOTDIR)
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	is, err := sub.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(was, is):
		err = fmt.Errorf("%s was replaced while it was opened", path)
	case uid >= 0 || gid >= 0:
		err = sub.Chown(".", uid, gid)
	}
	if err == nil {
		err = sub.Chmod(".", mode) // after the change of owner, which clears bits
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// writeFile writes a new file of the user's into a folder of the user's, in place of what may lie there.
func writeFile(root *os.Root, name string, mode fs.FileMode, content []byte, owner *localizer.Owner) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && owner != nil {
		err = f.Chown(owner.UID, owner.GID)
	}
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
