//go:build unix && !linux

package userfiles

import "os"

// openBelow opens the file that elems lead to from base, following no link after base.
func openBelow(base string, elems []string) (*os.File, error) { return openStepwise(base, elems) }
