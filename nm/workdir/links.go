package container

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/userfiles"
	"heddle/nm/launch"
)

// links are those of a work folder to localized resources, in order, given by the resources' names. A folder whose name
// ends in "*" is there by what is in it: MapReduce ships the jars of -libjars so, which $PWD/* of a class path finds.
func links(paths map[string]string, list func(folder string) ([]os.FileInfo, error)) ([]launch.Link, error) {
	var all []launch.Link
	for name, target := range paths {
		if path.Base(name) != "*" {
			all = append(all, launch.Link{Name: name, Target: target})
			continue
		}
		inside, err := list(target)
		if err != nil {
			return nil, fmt.Errorf("resource %q: what is in it can't be linked: %w", name, err)
		}
		for _, entry := range inside {
			all = append(all, launch.Link{Name: entry.Name(), Target: filepath.Join(target, entry.Name())})
		}
	}
	slices.SortFunc(all, func(a, b launch.Link) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Target, b.Target))
	})
	return all, nil
}

// listLocal lists a folder below one of the local ones. No link on the way there is followed.
func (m *Manager) listLocal(folder string) ([]os.FileInfo, error) {
	base, elems, err := below(m.Disks.Local, folder)
	if err != nil {
		return nil, err
	}
	return userfiles.ReadDir(base, elems...)
}
