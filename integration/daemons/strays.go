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

// Stray is a process that belongs to the cluster and is no daemon of it: a container's.
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

// Container is the id of the container that the process belongs to.
func (s Stray) Container() string { return s.Env["CONTAINER_ID"] }

// Strays are the containers' processes: those with the cluster's folder in their environment that are no daemons. Processes that
// this one has started itself, with the same configuration, are told from them by CONTAINER_ID.
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
		s.PID, _ = strconv.Atoi(filepath.Base(dir)) // the pattern takes numbers only
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		s.Command = strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ")
		out = append(out, s)
	}
	return out
}

// Groups are the cgroups of containers below a folder of that name in any hierarchy.
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
				return nil // what vanishes meanwhile isn't there
			})
		}
	}
	return out
}

// Mounts are the mount points below the folders of the daemons, without the daemons' disks.
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
