package workdir

import (
	"fmt"
	"os"
	"path/filepath"

	"heddle/internal/userfiles"
	"heddle/nm/disks"
	"heddle/nm/launch"
	"heddle/nm/localizer"
	"heddle/yarn/records"
)

// Names in a container's folders, in addition to those of package launch.
const (
	tmpFolder  = "tmp"
	StatusFile = "status" // exit code, see launch; in Places.Private
	OutputFile = "output" // output of the shells around the container; in Places.Private
)

// Modes of the folders of a container that runs as its user. They are those that Hadoop's container-executor leaves: other
// users of the user's group can't enter, and the NodeManager's group can read logs.
const (
	workMode = os.ModeSetgid | 0o710
	logsMode = os.ModeSetgid | 0o750
)

// Places are the folders of a container.
type Places struct {
	Work    string   `json:"work"`
	Private string   `json:"private"` // only the NodeManager can enter it
	Log     string   `json:"log"`     // the folder that <LOG_DIR> stands for
	Logs    []string `json:"logs"`    // one on every disk
}

// PrivateApp returns the folder of an application's files that only the NodeManager may see.
func PrivateApp(local string, app records.ApplicationID) string {
	return filepath.Join(local, localizer.NMPrivate, app.String())
}

// AppLogs returns the folder of the logs of an application's containers.
func AppLogs(logs string, app records.ApplicationID) string { return filepath.Join(logs, app.String()) }

// Make picks disks for a container, and makes its folders there. The application's local folders must exist
// (Localizer.InitApplication). It returns the work folder open, because its parent belongs to the user, who could
// replace the folder.
func Make(d *disks.Disks, user string, id records.ContainerID, owner *userfiles.User) (p Places, work *userfiles.Dir, err error) {
	app, name := id.Attempt.App, id.String()
	local, err := d.Local.Pick()
	if err != nil {
		return Places{}, nil, err
	}
	p.Private = filepath.Join(PrivateApp(local, app), name)
	if err := makePrivate(local, app, name); err != nil {
		return Places{}, nil, err
	}
	p.Work = filepath.Join(localizer.AppDir(local, user, app), name)
	log, err := d.Logs.Pick()
	if err != nil {
		return Places{}, nil, err
	}
	for _, l := range d.Logs.Writable() {
		dir := filepath.Join(AppLogs(l, app), name)
		if err := makeLogs(l, app, name, owner.Folder(logsMode, d.LogMode())); err != nil {
			if l == log {
				return Places{}, nil, fmt.Errorf("log folder: %w", err)
			}
			continue // a folder on another disk; the next check of the disks will find out
		}
		p.Logs = append(p.Logs, dir)
		if l == log {
			p.Log = dir
		}
	}
	if p.Log == "" {
		return Places{}, nil, fmt.Errorf("log folder: %s is no longer writable", log)
	}
	work, err = MakeWork(d, p.Work, owner)
	return p, work, err
}

// ours describes folders that belong to the NodeManager.
func ours(mode os.FileMode) userfiles.Want { return (*userfiles.User)(nil).Want(mode) }

// makePrivate makes a folder of the NodeManager's. No other user can enter its first parent.
func makePrivate(local string, app records.ApplicationID, name string) error {
	return makeIn(local, []folderStep{{localizer.NMPrivate, ours(0o700)}, {app.String(), ours(0o755)}, {name, ours(0o755)}})
}

// makeLogs makes a container's log folder and its parent, the application's.
func makeLogs(logs string, app records.ApplicationID, name string, want userfiles.Want) error {
	return makeIn(logs, []folderStep{{app.String(), want}, {name, want}})
}

type folderStep struct {
	name string
	want userfiles.Want
}

// makeIn makes nested folders.
func makeIn(base string, steps []folderStep) error {
	d, err := userfiles.OpenDir(base)
	for _, s := range steps {
		if err != nil {
			return err
		}
		at := d
		d, err = at.Make(s.name, s.want)
		at.Close()
	}
	if err != nil {
		return err
	}
	return d.Close()
}

// below splits a path of a container's, noted down earlier, at the folder that the NodeManager was given.
func below(f *disks.Folders, path string) (base string, elems []string, err error) {
	base, elems, ok := userfiles.Below(f.All(), path)
	if !ok {
		return "", nil, fmt.Errorf("%s lies in none of the node's folders any more", path)
	}
	return base, elems, nil
}

// openBelow opens a folder of a container's.
func openBelow(f *disks.Folders, path string) (*userfiles.Dir, error) {
	base, elems, err := below(f, path)
	if err != nil {
		return nil, err
	}
	return userfiles.OpenDir(base, elems...)
}

// MakeWork makes a work folder, or takes the one that an earlier try has left.
func MakeWork(d *disks.Disks, path string, owner *userfiles.User) (*userfiles.Dir, error) {
	app, err := openBelow(d.Local, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer app.Close()
	work, err := app.Make(filepath.Base(path), owner.Folder(workMode, 0o710))
	if err != nil {
		return nil, err
	}
	tmp, err := work.Make(tmpFolder, owner.Folder(workMode, 0o710))
	if err != nil {
		work.Close()
		return nil, err
	}
	return work, tmp.Close()
}

// Tails reads what a container that has failed says about it in its logs, as far as they can be read.
func Tails(d *disks.Disks, at Places, owner *userfiles.User, pattern string, most int64) launch.Tails {
	logs, err := openBelow(d.Logs, at.Log)
	if err != nil {
		return launch.Tails{}
	}
	defer logs.Close()
	return launch.ReadTails(logs, owner.ID(), pattern, most)
}

// Full says so when the file system of a folder has no space left: programs that ended for that reason could write down nothing
// about it.
func Full(dir string) string {
	s, err := disks.Free(dir)
	if err != nil || s.Free > 64<<10 {
		return ""
	}
	return fmt.Sprintf("No space left on the disk of %s: %d bytes are free of %d", dir, s.Free, s.Total)
}
