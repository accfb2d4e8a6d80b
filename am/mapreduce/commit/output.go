package commit

import (
	"errors"
	"fmt"
	"io/fs"
)

// OutputError says that the output can't be written.
type OutputError struct {
	Output string
	Err    error
}

func (e *OutputError) Error() string {
	if errors.Is(e.Err, fs.ErrExist) {
		return fmt.Sprintf("output %s exists already: remove it, or name another folder", e.Output)
	}
	return fmt.Sprintf("output %s: %v", e.Output, e.Err)
}

func (e *OutputError) Unwrap() error { return e.Err }
