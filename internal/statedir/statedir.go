// Package statedir creates the folders in which daemons keep their state.
package statedir

import (
	"fmt"
	"os"
	"path/filepath"

	"heddle/internal/trust"
)

// Make makes a folder that only its owner may enter. It makes missing parents that everybody may pass through, because
// they may also hold folders for users, as hadoop.tmp.dir holds the local folders of containers. It refuses a folder that
// other users of the machine can move away or write to.
func Make(dir string) error {
	if err := trust.Check(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
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
