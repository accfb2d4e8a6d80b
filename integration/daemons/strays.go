package daemons

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Stray is a process of the cluster that is not a daemon but belongs to a container.
type Stray struct {
	PID     int
	Command string
	Env     map[string]string
}

func (s Stray) String() string { return fmt.Sprintf("%d %s", s.PID, s.Command) }

func (s Stray) kill() error {
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Container returns the id of the container to which the process belongs.
func (s Stray) Container() string { return s.Env["CONTAINER_ID"] }

// Strays returns the containers' processes: those that have the cluster's folder in their environment and are no
// daemons. CONTAINER_ID distinguishes them from processes that this one has started with the same configuration.
func (c *Cluster) Strays() []Stray {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var out []Stray
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || !bytes.Contains(env, []byte(c.o.Dir+"/")) {
			continue
		}
		s := Stray{Env: map[string]string{}}
		for v := range strings.SplitSeq(string(env), "\x00") {
			k, v, _ := strings.Cut(v, "=")
			s.Env[k] = v
		}
		if s.Container() == "" {
			continue
		}
		s.PID, _ = strconv.Atoi(filepath.Base(dir)) // the pattern matches numbers only
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		s.Command = strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		out = append(out, s)
	}
	return out
}

// Frozen reports whether the kernel has frozen a cgroup, by its folder in a hierarchy that freezes.
func Frozen(group string) bool {
	for file, says := range map[string]string{"cgroup.events": "frozen 1", "freezer.state": "FROZEN"} {
		if b, err := os.ReadFile(filepath.Join(group, file)); err == nil && strings.Contains(string(b), says) {
			return true
		}
	}
	return false
}

// Groups returns the cgroups of containers below a folder with the name root, in any hierarchy.
func Groups(root string) []string {
	var out []string
	for _, top := range []string{"/sys/fs/cgroup/" + root, "/sys/fs/cgroup/*/" + root} {
		found, err := filepath.Glob(top)
		if err != nil {
			continue
		}
		for _, f := range found {
			_ = filepath.WalkDir(f, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), "container_") {
					out = append(out, path)
				}
				return nil // it has just been removed
			})
		}
	}
	return out
}

// Mounts returns the mount points below the daemons' folders, except for the daemons' disks.
func (c *Cluster) Mounts() ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own := map[string]bool{}
	for _, name := range c.Daemons() {
		own[c.Home(name)] = true
	}
	var out []string
	for in := bufio.NewScanner(f); in.Scan(); {
		if w := strings.Fields(in.Text()); len(w) > 4 && strings.HasPrefix(w[4], c.o.Dir+"/") && !own[w[4]] {
			out = append(out, w[4])
		}
	}
	return out, nil
}
