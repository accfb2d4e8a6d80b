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
	if err := goBuild("-tags", strings.Join(tags, ","), "-o", path, "heddle/cmd/heddle"); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return path, func() { _ = os.RemoveAll(dir) }, nil
}

// BuildLab builds heddle, and heddle-lab beside it. remove deletes both.
func BuildLab() (heddle, lab string, remove func(), err error) {
	if heddle, remove, err = BuildHeddle(); err != nil {
		return "", "", nil, err
	}
	lab = filepath.Join(filepath.Dir(heddle), "heddle-lab")
	if err := goBuild("-o", lab, "heddle/cmd/heddle-lab"); err != nil {
		remove()
		return "", "", nil, err
	}
	return heddle, lab, remove, nil
}

func goBuild(args ...string) error {
	build := exec.Command("go", append([]string{"build"}, args...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return nil
}
