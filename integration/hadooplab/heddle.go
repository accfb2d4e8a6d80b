package hadooplab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// BuildHeddle builds a heddle binary for Options.Heddle, with optional build tags. remove deletes it.
func BuildHeddle(tags ...string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "heddle-bin-")
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "heddle")
	build := exec.Command("go", "build", "-tags", strings.Join(tags, ","), "-o", path, "heddle/cmd/heddle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return path, func() { _ = os.RemoveAll(dir) }, nil
}
