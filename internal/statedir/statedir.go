// Package statedir creates the folders in which daemons keep their state.
package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"heddle/internal/trust"
)

// Make makes a folder that only its owner may enter: it has keys and users' tokens. From a folder that exists it takes the rights of all users. It makes missing parents that all users may pass through, because
// they may also hold folders for users, as hadoop.tmp.dir holds the local folders of containers. It refuses a folder that
// other users of the machine can move away or write to.
func Make(dir string) error {
	if err := trust.Check(dir); err != nil {
		return err
	}
	if err := MakePassable(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := trust.Check(dir); err != nil { // another may have been quicker, in a folder like /tmp
		return fmt.Errorf("it was just made by another user: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o007 == 0 {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm()&^0o007)
}

// making has a lock for each disk (st_dev), so that others of this process see no folder before it has its mode, and a disk that hangs holds
// up only its own users.
var making sync.Map

// MakePassable makes a folder and its missing parents with mode 0755, whatever the umask is. Folders that exist stay as they are.
func MakePassable(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	_, disk, err := missing(dir)
	if err != nil {
		return err
	}
	lock, _ := making.LoadOrStore(disk, new(sync.Mutex))
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	lacks, _, err := missing(dir)
	if err != nil {
		return err
	}
	for _, at := range slices.Backward(lacks) {
		err := os.Mkdir(at, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // another process was quicker
		}
		if err == nil {
			err = os.Chmod(at, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// missing returns which folders of a path don't exist, the innermost one first, and the disk that has the one around them.
func missing(dir string) (lacks []string, disk uint64, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case err == nil:
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				disk = uint64(st.Dev)
			}
			return lacks, disk, nil
		case !errors.Is(err, fs.ErrNotExist):
			return nil, 0, err
		}
		lacks = append(lacks, at)
	}
}
