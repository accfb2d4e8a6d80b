package hadooplab

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"heddle/internal/needs"
)

//go:embed pom.xml
var pom []byte

// Version is the release of Hadoop in a lab.
const Version = "3.4.2"

// errNoJava says that this machine can't run Hadoop.
var errNoJava = fmt.Errorf("java is not on the PATH, and Hadoop needs it: `apt-get install %s` installs it", needs.Package("java"))

// cacheDir returns the folder in which jars are kept between test runs.
func cacheDir() (string, error) {
	if dir := os.Getenv("HEDDLE_TEST_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep Hadoop's jars; set HEDDLE_TEST_CACHE: %w", err)
	}
	return filepath.Join(dir, "heddle"), nil
}

// Jars returns the folder of Hadoop's jars. It downloads them the first time.
func Jars(ctx context.Context) (string, error) {
	dir, err := Maven(ctx, "hadoop-"+Version, pom)
	if err != nil {
		return "", fmt.Errorf("fetching Hadoop's jars: %w", err)
	}
	return dir, nil
}

// Maven returns a folder with the runtime dependencies of a project. It downloads them the first time.
func Maven(ctx context.Context, name string, pom []byte) (string, error) {
	return MavenBeside(ctx, name, pom, nil)
}

// MavenBeside is Maven for a project that names file://${project.basedir}/repository as a repository, with POMs in it, by their paths.
func MavenBeside(ctx context.Context, name string, pom []byte, poms map[string]string) (string, error) {
	sum := sha256.Sum256(pom)
	return Cached(ctx, name+"-"+hex.EncodeToString(sum[:4]), "lib", func(ctx context.Context, base, partial string) error {
		for path, text := range poms {
			path = filepath.Join(base, "repository", path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
		file := filepath.Join(base, "pom.xml")
		if err := os.WriteFile(file, pom, 0o644); err != nil {
			return err
		}
		mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", file,
			"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+partial)
		if out, err := mvn.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", mvn, err, out)
		}
		return nil
	})
}

// PyPI returns a folder with packages from PyPI, given as arguments of pip install. It downloads them the first time.
func PyPI(ctx context.Context, name string, packages ...string) (string, error) {
	return Cached(ctx, name, "site", func(ctx context.Context, _, partial string) error {
		args := append([]string{"-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", partial}, packages...)
		pip := exec.CommandContext(ctx, "python3", args...)
		if out, err := pip.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", pip, err, out)
		}
		return nil
	})
}

// NPM returns a folder with node_modules of packages from npm, given as arguments of npm install. It downloads them the first time.
func NPM(ctx context.Context, name string, packages ...string) (string, error) {
	return Cached(ctx, name, "modules", func(ctx context.Context, _, partial string) error {
		args := append([]string{"install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", partial}, packages...)
		npm := exec.CommandContext(ctx, "npm", args...)
		if out, err := npm.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", npm, err, out)
		}
		return nil
	})
}

// GoTool returns a folder with a program from a Go module, given as an argument of go install. It builds the program the first time.
func GoTool(ctx context.Context, name, program string) (string, error) {
	return Cached(ctx, name, "bin", func(ctx context.Context, _, partial string) error {
		install := exec.CommandContext(ctx, "go", "install", program)
		install.Env = append(os.Environ(), "GOBIN="+partial)
		if out, err := install.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", install, err, out)
		}
		return nil
	})
}

// Cached returns the folder part of name in the cache. The first time, fetch downloads it into the folder partial; it
// may keep other files in base. Processes that call Cached at the same time wait for the one that downloads.
func Cached(ctx context.Context, name, part string, fetch func(ctx context.Context, base, partial string) error) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(cache, name)
	whole := filepath.Join(base, part)
	if _, err := os.Stat(whole); err == nil {
		return whole, nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(ctx, filepath.Join(base, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(whole); err == nil {
		return whole, nil
	}
	// Each download has a folder of its own, because processes of a killed test may still write. Remove what such a
	// test left.
	old, err := filepath.Glob(filepath.Join(base, "partial-*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		if err := os.RemoveAll(dir); err != nil {
			return "", err
		}
	}
	partial, err := os.MkdirTemp(base, "partial-")
	if err != nil {
		return "", err
	}
	if err := fetch(ctx, base, partial); err != nil {
		return "", err
	}
	if err := os.Chmod(partial, 0o755); err != nil {
		return "", err
	}
	return whole, os.Rename(partial, whole)
}

// lockFile waits for an exclusive lock, which the kernel releases if this process dies.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	got := make(chan error, 1)
	go func() { got <- syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }()
	select {
	case err = <-got:
	case <-ctx.Done():
		// The goroutine ends when it has the lock; closing the file releases that.
		go func() { <-got; _ = f.Close() }()
		return nil, fmt.Errorf("waiting for %s: %w", path, ctx.Err())
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}

// Jar returns the path of a jar by the beginning of its name, such as hadoop-mapreduce-examples. Names of test jars end
// in -tests.
func (l *Lab) Jar(name string) (string, error) {
	base, suffix := name, ""
	if b, ok := strings.CutSuffix(name, "-tests"); ok {
		base, suffix = b, "-tests"
	}
	path := filepath.Join(l.lib, base+"-"+Version+suffix+".jar")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("no jar is named %s: %w", name, err)
	}
	return path, nil
}
