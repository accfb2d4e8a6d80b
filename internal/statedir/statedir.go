// Package statedir creates the folders in which daemons keep their state.
package statedir

import (
	"os"
	"path/filepath"
)

// Make makes a folder that only its owner may enter. It makes missing parents that everybody may pass through, because
// they may also hold folders for users, as hadoop.tmp.dir holds the local folders of containers.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}
