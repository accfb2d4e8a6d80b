// Package statedir creates the folders in which daemons keep their state.
package statedir

import (
	"os"
	"path/filepath"
)

// Make makes a folder that only its owner gets into. Folders above it that aren't there are for everybody to pass: they may hold
// what users have to get to as well, as hadoop.tmp.dir holds the local folders of containers.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o700)
}
