package workdir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/userfiles"
	"heddle/nm/disks"
	"heddle/nm/launch"
)

// Links returns those of a work folder to localized resources, in order, given by the resources' names. A folder whose name
// ends in "*" is there by what is in it: MapReduce ships the jars of -libjars so, which $PWD/* of a class path finds.
func Links(d *disks.Disks, paths map[string]string) ([]launch.Link, error) {
	return links(paths, func(folder string) ([]os.FileInfo, error) {
		base, elems, err := below(d.Local, folder)
		if err != nil {
			return nil, err
		}
		return userfiles.ReadDir(base, elems...)
	})
}

// links is Links with a way to list folders.
func links(paths map[string]string, list func(folder string) ([]os.FileInfo, error)) ([]launch.Link, error) {
	var all []launch.Link
	for name, target := range paths {
		if path.Base(name) != "*" {
			all = append(all, launch.Link{Name: name, Target: target})
			continue
		}
		inside, err := list(target)
		if err != nil {
			return nil, fmt.Errorf("resource %q: its contents can't be linked: %w", name, err)
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

// AddLink makes a link in the work folder of a running container, whose programs may have put links into its place and into it: none
// is followed.
func AddLink(d *disks.Disks, work, name, target string, owner *userfiles.User) error {
	at, err := openBelow(d.Local, work)
	if err != nil {
		return err
	}
	defer func() { at.Close() }()
	steps := strings.Split(filepath.Clean(name), "/")
	last := len(steps) - 1
	for _, s := range steps[:last] {
		next, err := at.Enter(s)
		if errors.Is(err, fs.ErrNotExist) {
			next, err = at.Make(s, owner.Want(0o755))
		}
		if err != nil {
			return err
		}
		at.Close()
		at = next
	}
	return at.Symlink(target, steps[last])
}
