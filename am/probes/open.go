package probes

import (
	"context"
	"io"
	"os"

	"heddle/hdfsadapter"
	"heddle/yarn/wire"
)

// OpenInput opens the input of the short task in whose process it is called: the copy that the node has staged, else the file itself. staged tells which. A
// copy that has got lost since the task began is no error.
func OpenInput(ctx context.Context, fs *hdfsadapter.FS, name string) (in io.ReadCloser, staged bool, err error) {
	if path := os.Getenv(wire.InputVariable); path != "" {
		if f, err := os.Open(path); err == nil {
			return f, true, nil
		}
	}
	r, err := fs.Open(ctx, name)
	return r, false, err
}
