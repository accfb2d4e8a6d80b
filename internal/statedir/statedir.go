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

	"heddle/internal/trust"
)

// Make makes a folder that only its owner may enter. It makes missing parents that everybody may pass through, because
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
	if err := trust.Check(dir); err != nil { // somebody may have been quicker, in a folder like /tmp
		return fmt.Errorf("it was just made by another user: %w", err)
	}
	return nil
}

var making sync.Mutex

// MakePassable makes a folder and its missing parents with mode 0755, whatever the umask is. Folders that exist stay as they are.
func MakePassable(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	making.Lock() // others of this process see no folder before it has its mode
	defer making.Unlock()
	var missing []string
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Lstat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, at)
	}
	for _, at := range slices.Backward(missing) {
		err := os.Mkdir(at, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody was quicker
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
