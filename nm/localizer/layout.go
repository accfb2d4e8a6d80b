package localizer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/internal/userfiles"
	"heddle/yarn/records"
)

// Names of the directories below a local directory.
const (
	FileCache = "filecache"
	UserCache = "usercache"
	AppCache  = "appcache"
	NMPrivate = "nmPrivate"
	tmpSuffix = "_tmp"
)

// UserDir returns the directory of a user below the local directory dir.
func UserDir(dir, user string) string { return filepath.Join(dir, UserCache, user) }

// AppDir returns the directory of an application below the local directory dir: its containers' working directories lie in
// it, and LOCAL_DIRS names it.
func AppDir(dir, user string, app records.ApplicationID) string {
	return filepath.Join(UserDir(dir, user), AppCache, app.String())
}

// step is one directory on the way from a local directory to a cache.
type step struct {
	name string
	mode fs.FileMode // if it must be made
	user fs.FileMode // if it is made for a user, its owner; 0: it is the NodeManager's
}

// Modes of the directories that are users' where containers run as these. They are those that Hadoop's container-executor
// and its localizer leave: only the user and the NodeManager's group can enter, and directories pass the group on.
const (
	userMode  = fs.ModeSetgid | 0o750
	cacheMode = fs.FileMode(0o710)
)

// cacheSteps leads to the cache of s. Where containers run as other users, all directories from the user's own on are
// the user's. Their modes for the NodeManager alone are those of Hadoop's DefaultContainerExecutor.
func (s scope) cacheSteps() []step {
	if s.visibility == Public {
		return []step{{name: FileCache, mode: 0o755}}
	}
	steps := []step{{name: UserCache, mode: 0o755}, {name: s.user, mode: 0o750, user: userMode}}
	if s.visibility == Private {
		return append(steps, step{name: FileCache, mode: 0o710, user: cacheMode})
	}
	return append(steps,
		step{name: AppCache, mode: 0o710, user: userMode},
		step{name: s.app.String(), mode: 0o710, user: userMode},
		step{name: FileCache, mode: 0o710, user: cacheMode})
}

// cacheDir returns where steps lead.
func (s scope) cacheDir(dir string) string {
	for _, st := range s.cacheSteps() {
		dir = filepath.Join(dir, st.name)
	}
	return dir
}

// stepNames returns the elements of the path that steps make.
func stepNames(steps []step) []string {
	names := make([]string, 0, len(steps)+1)
	for _, s := range steps {
		names = append(names, s.name)
	}
	return names
}

// descend opens the directory that steps lead to from the local directory dir, and follows no link on the way. Missing
// directories are made; o owns what steps hand over.
func descend(dir string, steps []step, o *userfiles.User) (*userfiles.Dir, error) {
	d, err := userfiles.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		next, err := d.Make(s.name, s.want(o))
		if errors.Is(err, userfiles.ErrOwner) && s.user != 0 {
			next, err = ofEarlierRelease(d, s.name)
		}
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

// ofEarlierRelease opens a directory on the way to a user's cache that belongs to the NodeManager: earlier releases kept
// these, and let the user's group pass. It stays as it is, because the user may have moved it to where it is.
func ofEarlierRelease(d *userfiles.Dir, name string) (*userfiles.Dir, error) {
	next, err := d.Enter(name)
	if err != nil {
		return nil, err
	}
	fi, err := next.Stat()
	if err == nil && userfiles.Owner(fi) != os.Geteuid() {
		err = fmt.Errorf("%s: %w: uid %d", next.Name(), userfiles.ErrOwner, userfiles.Owner(fi))
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (s step) want(o *userfiles.User) userfiles.Want {
	if s.user == 0 {
		o = nil
	}
	return o.Folder(s.user, s.mode)
}

// slotSteps leads to sub-directory sub of the cache of s, "" for the cache itself.
func (s scope) slotSteps(sub string) []step {
	steps := s.cacheSteps()
	if sub == "" {
		return steps
	}
	for level := range strings.SplitSeq(sub, "/") {
		steps = append(steps, step{name: level, mode: 0o755})
	}
	return steps
}
