package jvm

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/internal/userfiles"
)

// Version returns the feature release (8, 11, 17, …) of the Java installed in home, or of the java on the PATH if
// home is empty. It returns 0 if there is none or the release is unknown. It reads the release file, and starts
// nothing. If a user chooses home, call it within userfiles.As.
func Version(home string) int {
	if home == "" {
		java, err := exec.LookPath("java")
		if err != nil {
			return 0
		}
		if java, err = filepath.EvalSymlinks(java); err != nil {
			return 0
		}
		home = filepath.Dir(filepath.Dir(java))
	}
	release, err := userfiles.OpenReal(filepath.Join(home, "release"))
	if err != nil {
		return 0
	}
	defer release.Close()
	f, err := release.Open()
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<16))
	for lines.Scan() {
		if v, ok := strings.CutPrefix(lines.Text(), "JAVA_VERSION="); ok {
			return feature(strings.Trim(v, `"`))
		}
	}
	return 0
}

// feature parses 17.0.15, 21-ea or 1.8.0_442.
func feature(version string) int {
	version = strings.TrimPrefix(version, "1.")
	end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(version)
	}
	n, _ := strconv.Atoi(version[:end])
	return n
}
