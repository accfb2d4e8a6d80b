package localizer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/nm/userfiles"
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

// descend opens the directory that steps lead to from the local directory dir, and follows no link on the way. Missing
// directories are made if mk is set. o owns what steps hand over.
func descend(dir string, steps []step, mk bool, o *Owner) (*os.Root, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range steps {
		next, err := enter(r, s, mk, o)
		r.Close()
		if err != nil {
			return nil, err
		}
		r = next
	}
	return r, nil
}

func enter(r *os.Root, s step, mk bool, o *Owner) (*os.Root, error) {
	made := false
	if mk {
		err := r.Mkdir(s.name, 0o700)
		made = err == nil
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	next, err := userfiles.Enter(r, s.name)
	if err != nil || !made {
		return next, err
	}
	if o != nil && (s.group || s.owner) {
		uid := -1
		if s.owner {
			uid = o.UID
		}
		err = next.Chown(".", uid, o.GID)
	}
	if err == nil {
		err = next.Chmod(".", s.mode) // after the chown, which clears bits; also undoes the umask
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
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
