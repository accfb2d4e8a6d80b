package workdir

import (
	"errors"
	"path/filepath"

	"heddle/internal/userfiles"
	"heddle/nm/localizer"
	"heddle/yarn/records"
)

// Known says which applications and containers are on the node.
type Known interface {
	KnowsApplication(id records.ApplicationID) bool
	// KnowsContainer returns false for a container that has ended.
	KnowsContainer(id records.ContainerID) bool
}

// Leftovers returns the folders below a local folder whose applications or containers known doesn't know: those of
// users, and those that only the NodeManager can enter.
func Leftovers(local string, known Known) (users, private []string) {
	for _, app := range subfolders(local, localizer.NMPrivate) {
		private = append(private, unknownIn(known, local, localizer.NMPrivate, app)...)
	}
	for _, user := range subfolders(local, localizer.UserCache) {
		for _, app := range subfolders(local, localizer.UserCache, user, localizer.AppCache) {
			users = append(users, unknownIn(known, local, localizer.UserCache, user, localizer.AppCache, app)...)
		}
	}
	return users, private
}

// unknownIn returns the application's folder if the application is unknown, or else the folders of unknown containers
// in it.
func unknownIn(known Known, local string, app ...string) []string {
	path := filepath.Join(append([]string{local}, app...)...)
	id, err := records.ParseApplicationID(app[len(app)-1])
	if err != nil {
		return nil // not ours
	}
	if !known.KnowsApplication(id) {
		return []string{path}
	}
	var out []string
	for _, name := range subfolders(local, app...) {
		if id, err := records.ParseContainerID(name); err == nil && !known.KnowsContainer(id) {
			out = append(out, filepath.Join(path, name))
		}
	}
	return out
}

// subfolders returns the folders in the folder that elems lead to from a local folder.
func subfolders(local string, elems ...string) []string {
	entries, err := userfiles.ReadDir(local, elems...)
	if err != nil && !errors.Is(err, userfiles.ErrTooMany) {
		return nil
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}
