package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/internal/userfiles"
	"heddle/nm/gpu"
	"heddle/nm/image/bundle"
	"heddle/nm/image/docker"
	"heddle/nm/image/registry"
	"heddle/nm/image/request"
	"heddle/nm/image/runc"
	"heddle/nm/image/store"
	"heddle/nm/launch"
)

// Runner runs images. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	store    *store.Store
	registry *registry.Client // nil: no image is pulled
	docker   *docker.Daemon   // nil: none has images
	runc     *runc.Finder     // nil: there is no folder of Hadoop's
	runtime  string
}

// New opens the store of layers. It fails if the machine has no OCI runtime.
func New(cfg Config) (*Runner, error) {
	const key = "heddle.nodemanager.images.runtime"
	program, err := exec.LookPath(cfg.Runtime)
	if err != nil {
		return nil, fmt.Errorf("%s = %s: no such program: install crun, or take docker and runc out of yarn.nodemanager.runtime.linux.allowed-runtimes: %w", key, cfg.Runtime, err)
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("images need a NodeManager that root has started: it mounts their layers")
	}
	r := &Runner{cfg: cfg, runtime: program}
	if r.store, err = store.Open(cfg.Store); err != nil {
		return nil, fmt.Errorf("layers of images (heddle.nodemanager.images.store): %w", err)
	}
	if cfg.Docker != "" {
		r.docker = docker.New(cfg.Docker, r.store.Fetched(), cfg.Store.Image.Bytes)
	}
	if cfg.Registry != nil {
		from := *cfg.Registry
		from.Dir = r.store.Names()
		if r.registry, err = registry.New(from); err != nil {
			r.store.Close()
			return nil, fmt.Errorf("names of images (heddle.nodemanager.images.store): %w", err)
		}
	}
	if cfg.Runc != nil {
		from := *cfg.Runc
		from.Source, from.Log = cfg.Source, cfg.Store.Log
		if r.runc, err = runc.New(from); err != nil {
			r.store.Close()
			return nil, fmt.Errorf("yarn.nodemanager.runtime.linux.%w", err)
		}
	}
	return r, nil
}

// Close lets go of the store. Containers continue.
func (r *Runner) Close() {
	if r == nil {
		return
	}
	if r.docker != nil {
		r.docker.Close()
	}
	r.store.Close()
}

// Wanted returns what a container asks for; nil if it asks for no image. It fails if that isn't allowed.
func (r *Runner) Wanted(env map[string]string) (*request.Request, error) {
	if r == nil {
		return nil, nil
	}
	return r.cfg.Settings.Read(env)
}

// Prepare finds the image and unpacks what is missing of it. Its layers stay until Release.
func (r *Runner) Prepare(ctx context.Context, s Start) (*launch.Image, error) {
	config, layers, err := r.unpacked(ctx, s)
	if err != nil {
		return nil, err
	}
	c := &bundle.Container{
		ID: s.ID, Request: s.Request, Allowed: r.cfg.Settings.Kinds[s.Request.Kind].Allowed, Config: config,
		Seccomp: r.cfg.Seccomp[s.Request.Kind],
		Layers:  layers, Private: s.Private, Work: s.Work, User: s.User, Name: s.Name, Folders: s.Folders,
		Devices: deviceFiles(s.GPUs), Find: s.Find,
		Runtime: r.runtime, Args: []string{"/bin/bash", s.Script},
	}
	i := &launch.Image{Command: c.Command(), Enter: c.Enter}
	if s.Request.EntryPoint {
		if err := entryPoint(c, s); err != nil {
			return nil, err
		}
		i.Logs = func() ([]*os.File, error) { return logs(s) }
	}
	return i, nil
}

// logs opens the files that get the output of an image's own program, as Hadoop names them. The folder is the user's.
func logs(s Start) (files []*os.File, err error) {
	err = userfiles.As(s.User, func() error {
		for _, name := range []string{"stdout.txt", "stderr.txt"} {
			f, err := os.OpenFile(filepath.Join(s.LogDir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o640)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		return nil
	})
	return files, err
}

// entryPoint has the image's own program run, with the container's command as its arguments, which commas separate as in Hadoop. The
// variables are set by the OCI runtime, and no shell expands them.
func entryPoint(c *bundle.Container, s Start) error {
	values := map[string]string{}
	for _, v := range s.Vars {
		values[v.Name] = os.Expand(v.Value, func(name string) string { return values[name] })
		c.Env = append(c.Env, v.Name+"="+values[v.Name])
	}
	var args []string
	for _, command := range s.Command {
		for arg := range strings.SplitSeq(command, ",") {
			if arg != "" {
				args = append(args, arg)
			}
		}
	}
	if len(args) == 0 {
		args = c.Config.Config.Cmd
	}
	c.Args = append(append([]string{}, c.Config.Config.Entrypoint...), args...)
	if len(c.Args) == 0 {
		return fmt.Errorf("image %s has neither an entry point nor a command, and the container has none", s.Request.Image)
	}
	return nil
}

// deviceFiles are those of GPUs.
func deviceFiles(gpus []gpu.Device) []string {
	if len(gpus) == 0 {
		return nil
	}
	files := []string{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}
	for _, g := range gpus {
		files = append(files, fmt.Sprintf("/dev/nvidia%d", g.Minor))
	}
	return files
}

// Release says that a container has ended.
func (r *Runner) Release(id string) {
	if r != nil {
		r.store.Release(id)
	}
}

// Keep releases the layers of containers that aren't here any more.
func (r *Runner) Keep(known func(id string) bool) {
	if r != nil {
		r.store.Keep(known)
	}
}
