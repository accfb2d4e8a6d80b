package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// programs are those that were found lately. A question to the file system for each folder of PATH would cost a tenth of a short command's start.
type programs struct {
	mu    sync.Mutex
	found map[sought]found
}

type sought struct{ name, dir, path string }

type found struct {
	file string
	at   time.Time
}

// A program is looked up again after foundFor. maxFound bounds what is remembered.
const (
	foundFor = time.Second
	maxFound = 1000
)

// of returns the file of a command, as execvp finds it in PATH, and whether it was only found earlier.
func (p *programs) of(name, dir string, env []string) (file string, earlier bool, err error) {
	if name == "" {
		return "", false, syscall.ENOENT
	}
	if strings.Contains(name, "/") {
		return name, false, nil
	}
	s := sought{name: name, dir: dir, path: "/usr/local/bin:/bin:/usr/bin"}
	for _, v := range env {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			s.path = rest
		}
	}
	p.mu.Lock()
	f, known := p.found[s]
	p.mu.Unlock()
	now := time.Now()
	if known && now.Sub(f.at) < foundFor {
		return f.file, true, nil
	}
	if file, err = look(s.name, s.dir, s.path); err != nil {
		return "", false, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found == nil || len(p.found) >= maxFound {
		p.found = map[sought]found{}
	}
	p.found[s] = found{file, now}
	return file, false, nil
}

// forget has all programs looked up again.
func (p *programs) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = nil
}

// look finds a program as execvp does: a file that isn't executable, or a folder, is an error of its own.
func look(name, dir, path string) (string, error) {
	missing := error(syscall.ENOENT)
	for _, d := range filepath.SplitList(path) {
		if d == "" {
			d = "."
		}
		file := d + "/" + name
		at := file
		if dir != "" && !filepath.IsAbs(d) {
			at = filepath.Join(dir, file)
		}
		denied := syscall.Access(at, runs)
		if errors.Is(denied, syscall.ENOENT) || errors.Is(denied, syscall.ENOTDIR) {
			continue // most folders, in less time than Stat takes
		}
		info, err := os.Stat(at)
		switch {
		case err != nil:
		case denied == nil && !info.IsDir() && info.Mode().Perm()&0o111 != 0:
			return file, nil
		default:
			missing = syscall.EACCES
		}
	}
	return "", missing
}

// runs asks whether a file may be executed.
const runs = 1
