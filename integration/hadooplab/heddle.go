package hadooplab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binaryVariable names a heddle that was built before, with heddle-lab beside it. Tests run copies of it where they need no build tags: linking one for each
// package would take minutes.
const binaryVariable = "HEDDLE_BINARY"

// BuildHeddle returns a heddle binary of the caller's own for Options.Heddle, with optional build tags. remove deletes it.
func BuildHeddle(tags ...string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "heddle-bin-")
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "heddle")
	if given := os.Getenv(binaryVariable); given != "" && len(tags) == 0 {
		err = copyProgram(given, path)
	} else {
		err = goBuild("-tags", strings.Join(tags, ","), "-o", path, "heddle/cmd/heddle")
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return path, func() { _ = os.RemoveAll(dir) }, nil
}

// BuildRelease builds the command heddle of another release, at a path.
func BuildRelease(path, release string) error {
	return goBuild("-ldflags", "-X heddle/conf.Version="+release, "-o", path, "heddle/cmd/heddle")
}

// BuildLab is BuildHeddle with a heddle-lab beside heddle. remove deletes both.
func BuildLab() (heddle, lab string, remove func(), err error) {
	if heddle, remove, err = BuildHeddle(); err != nil {
		return "", "", nil, err
	}
	lab = filepath.Join(filepath.Dir(heddle), "heddle-lab")
	if given := os.Getenv(binaryVariable); given != "" {
		err = copyProgram(filepath.Join(filepath.Dir(given), "heddle-lab"), lab)
	} else {
		err = goBuild("-o", lab, "heddle/cmd/heddle-lab")
	}
	if err != nil {
		remove()
		return "", "", nil, err
	}
	return heddle, lab, remove, nil
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("%s: %w", binaryVariable, err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func goBuild(args ...string) error {
	build := exec.Command("go", append([]string{"build"}, args...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", build, err, out)
	}
	return nil
}
