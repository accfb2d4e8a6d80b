package localizer

import (
	"io/fs"
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

// UserDir is the directory of a user below the local directory dir.
func UserDir(dir, user string) string { return filepath.Join(dir, UserCache, user) }

// AppDir is the directory of an application below the local directory dir: its containers' working directories lie in
// it, and LOCAL_DIRS names it.
func AppDir(dir, user string, app records.ApplicationID) string {
	return filepath.Join(UserDir(dir, user), AppCache, app.String())
}

// step is one directory on the way from a local directory to a cache.
type step struct {
	name  string
	mode  fs.FileMode // if it has to be made
	group bool        // it is handed to the user's group
	owner bool        // it is handed to the user
}

// cacheSteps leads to the cache of s. Where containers run as other users, these can pass through the directories that lead to
// their caches but not rename anything in them; only the application's own directory is theirs.
func (s scope) cacheSteps() []step {
	if s.visibility == Public {
		return []step{{name: FileCache, mode: 0o755}}
	}
	steps := []step{{name: UserCache, mode: 0o755}, {name: s.user, mode: 0o750, group: true}}
	if s.visibility == Private {
		return append(steps, step{name: FileCache, mode: 0o710, group: true})
	}
	return append(steps,
		step{name: AppCache, mode: 0o710, group: true},
		step{name: s.app.String(), mode: 0o710, group: true, owner: true},
		step{name: FileCache, mode: 0o710, group: true})
}

// cacheDir is where steps lead.
func (s scope) cacheDir(dir string) string {
	for _, st := range s.cacheSteps() {
		dir = filepath.Join(dir, st.name)
	}
	return dir
}

// stepNames are the elements of the path that steps make.
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
		d.Close()
		if err != nil {
			return nil, err
		}
		d = next
	}
	return d, nil
}

func (s step) want(o *userfiles.User) userfiles.Want {
	switch {
	case s.owner:
		return o.Want(s.mode)
	case s.group:
		return o.Pass(s.mode)
	}
	return (*userfiles.User)(nil).Want(s.mode)
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
