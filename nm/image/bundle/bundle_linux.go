package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"heddle/internal/bounded"
	"heddle/nm/image/oci"
	"heddle/nm/image/request"
)

// Names in a container's folder.
const (
	rootDir   = "root"   // where the overlay is mounted
	upperDir  = "upper"  // what the container writes to its root
	workDir   = "work"   // of overlayfs
	lowerDir  = "lower"  // links to layers
	mountsDir = "mounts" // what is to be mounted in the root
	stateDir  = "state"  // of the OCI runtime
	layersOf  = "layers" // a file: the layers below what the container has written
	config    = "config.json"
	passwd    = "passwd"
)

// Container is a container to run.
type Container struct {
	ID      string
	Request *request.Request
	Allowed Allowed
	Config  oci.Config
	Seccomp any      // a profile in the format of config.json; nil: none
	Layers  []string // folders, the lowest first
	Private string   // a folder that only root can enter
	Work    string   // where the process begins
	User    *Owner
	Name    string // of the user
	Args    []string
	Env     []string // NAME=VALUE
	Folders []Folder
	Devices []string             // files below /dev
	Find    func(string) *Folder // a localized resource by its name; nil: there is none
	Runtime string               // program of the OCI runtime: crun
}

func (c *Container) path(name string) string { return filepath.Join(c.Private, name) }

// Command runs the container, once Enter was called, and has its exit code.
func (c *Container) Command() []string {
	// The node has made the container's cgroups, and the keeper is in them.
	return []string{c.Runtime, "--cgroup-manager=disabled", "--root", c.path(stateDir), "run", "--bundle", c.Private, c.ID}
}

// Enter gives the calling thread, and what it starts, the container's mounts. The thread must be of no further use. What an earlier
// process of the container has written to its root is still there.
func (c *Container) Enter() error {
	if err := c.folders(); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	// File systems that are unmounted on the machine go here, too.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep mounts from the machine: %w", err)
	}
	if err := c.overlay(); err != nil {
		return err
	}
	binds, err := c.binds()
	if err != nil {
		return err
	}
	text, err := c.compose(binds)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path(config), text, 0o600); err != nil {
		return err
	}
	return maskGroups()
}

// folders makes the container's folders, and removes what an earlier process has left, but for what it has written to the same image.
func (c *Container) folders() error {
	old := []string{workDir, lowerDir, mountsDir, stateDir}
	layers := []byte(strings.Join(c.Layers, "\n"))
	if was, err := bounded.ReadFile(c.path(layersOf), maxLayers); err != nil || !bytes.Equal(was, layers) {
		old = append(old, upperDir)
	}
	for _, name := range old {
		if err := os.RemoveAll(c.path(name)); err != nil {
			return err
		}
	}
	for _, name := range []string{rootDir, upperDir, workDir, lowerDir, mountsDir, stateDir} {
		if err := os.Mkdir(c.path(name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return os.WriteFile(c.path(layersOf), layers, 0o600)
}

const maxLayers = 1 << 20 // bytes of the names of layers

// overlay mounts the container's root. Its options have short relative paths: they must fit into a page, and a path may have colons and commas.
func (c *Container) overlay() error {
	var lower []string
	for n, dir := range slices.Backward(c.Layers) {
		if slices.Contains(c.Layers[n+1:], dir) {
			continue // above it is the same again
		}
		name := filepath.Join(lowerDir, strconv.Itoa(n))
		if err := os.Symlink(dir, c.path(name)); err != nil {
			return err
		}
		lower = append(lower, name)
	}
	if err := unix.Chdir(c.Private); err != nil {
		return err
	}
	defer unix.Chdir("/")
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", strings.Join(lower, ":"), upperDir, workDir)
	if err := unix.Mount("overlay", rootDir, "overlay", unix.MS_NODEV|unix.MS_NOSUID, options); err != nil {
		return fmt.Errorf("mount the layers of the image with overlayfs in %s: %w", c.Private, err)
	}
	return nil
}

// binding collects what is to be mounted in a container's root.
type binding struct {
	c   *Container
	out []mount
}

// binds prepares all mounts of the container's.
func (c *Container) binds() ([]mount, error) {
	b := &binding{c: c}
	for _, step := range []func() error{b.groups, b.names, b.account, b.asked, b.own, b.devices} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.out, nil
}

// add mounts an open file or folder where the OCI runtime will find it. Another file at its path changes nothing.
func (b *binding) add(fd int, target string, write bool) error {
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	at := filepath.Join(b.c.path(mountsDir), strconv.Itoa(len(b.out)))
	var err error
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		err = os.Mkdir(at, 0o700)
	case unix.S_IFREG:
		err = os.WriteFile(at, nil, 0o600)
	default:
		err = errors.New("it is neither a folder nor a file")
	}
	if err == nil {
		err = unix.Mount(fmt.Sprintf("/proc/thread-self/fd/%d", fd), at, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("mount at %s: %w", target, err)
	}
	options := []string{"bind", "nosuid", "nodev", "private"}
	if write {
		options = append(options, "rw")
	} else {
		options = append(options, "ro")
	}
	b.out = append(b.out, mount{target, "bind", at, options})
	return nil
}

// openBelow opens a file or folder without following links below base.
func openBelow(base string, elems ...string) (int, error) {
	dir, err := unix.Open(base, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: base, Err: err}
	}
	if len(elems) == 0 {
		return dir, nil
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, filepath.Join(elems...), &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: filepath.Join(base, filepath.Join(elems...)), Err: err}
	}
	return fd, nil
}

// openReal opens a path of an administrator's, or one that was found to be allowed.
func openReal(real string) (int, error) { return openBelow("/", strings.TrimPrefix(real, "/")) }

const groupTree = "/sys/fs/cgroup"

// groups lets programs read their limits: the machine's cgroups, which they may not write to.
func (b *binding) groups() error {
	at := b.c.path(filepath.Join(mountsDir, "cgroup"))
	if err := os.Mkdir(at, 0o700); err != nil {
		return err
	}
	if err := unix.Mount(groupTree, at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount cgroups: %w", err)
	}
	b.out = append(b.out, mount{groupTree, "bind", at, []string{"rbind", "nosuid", "nodev", "noexec", "rro", "private"}})
	return nil
}

// maskGroups hides hierarchies of cgroup v1 from the OCI runtime where there is one of version 2 beside them: crun refuses to run with both.
func maskGroups() error {
	const unified = groupTree + "/unified"
	var st unix.Statfs_t
	if err := unix.Statfs(unified, &st); err != nil || st.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	if err := unix.Mount(unified, groupTree, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount cgroups: %w", err)
	}
	return nil
}

// names gives a container with the machine's network the machine's names of hosts.
func (b *binding) names() error {
	if b.c.Request.Network != "host" {
		return nil
	}
	for _, file := range []string{"/etc/resolv.conf", "/etc/hosts", "/etc/hostname"} {
		real, err := filepath.EvalSymlinks(file)
		if err != nil || b.asks(file) {
			continue // the machine has none, or the container gets another
		}
		fd, err := openReal(real)
		if err != nil {
			return err
		}
		if err := b.add(fd, file, false); err != nil {
			return err
		}
	}
	return nil
}

// asks reports whether the container asks for a mount there.
func (b *binding) asks(target string) bool {
	return slices.ContainsFunc(b.c.Request.Mounts, func(m request.Mount) bool { return m.Target == target })
}

const maxPasswd = 1 << 20 // bytes

// account adds the container's user to the image's /etc/passwd, if the user isn't there: Java and others look up their name.
func (b *binding) account() error {
	c := b.c
	if !plainName.MatchString(c.Name) || b.asks("/etc/passwd") || b.asks("/etc") {
		return nil
	}
	text, err := readInRoot(c.path(rootDir), "etc/passwd")
	if err != nil {
		return nil //nolint:nilerr // the image has no such file, or none that can be read, and doesn't need one
	}
	if text = withAccount(text, c.Name, c.User, c.Work); text == nil {
		return nil
	}
	if err := os.WriteFile(c.path(passwd), text, 0o644); err != nil {
		return err
	}
	fd, err := openReal(c.path(passwd))
	if err != nil {
		return err
	}
	return b.add(fd, "/etc/passwd", false)
}

// readInRoot reads a file of an image. Links in it lead to where they lead in a container.
func readInRoot(root, name string) ([]byte, error) {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is no file"))
	}
	return bounded.ReadAll(io.Reader(f), maxPasswd)
}

// asked mounts what the container asks for, if that is allowed where its links lead.
func (b *binding) asked() error {
	for _, m := range b.c.Request.Mounts {
		fd, err := b.open(m)
		if err == nil {
			err = b.add(fd, m.Target, m.Write)
		}
		if err != nil {
			return fmt.Errorf("mount of %.200s: %w", m.Source, err)
		}
	}
	return nil
}

func (b *binding) open(m request.Mount) (int, error) {
	if m.Resource {
		f := b.c.Find(m.Source)
		if f == nil {
			//lint:ignore ST1005 Hadoop's words
			return -1, errors.New("Mount must be a localized resource, or an absolute path")
		}
		return openBelow(f.Base, f.Elems...)
	}
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil || !b.c.Allowed(real, m.Write, filepath.EvalSymlinks) {
		mode := "ro"
		if m.Write {
			mode = "rw"
		}
		return -1, fmt.Errorf("invalid docker %s mount: it isn't there, or not in %[2]s.allowed.%[1]s-mounts of section [%[2]s] of container-executor.cfg", mode, b.c.Request.Kind)
	}
	return openReal(real)
}

// own mounts the container's and the application's folders at their own paths.
func (b *binding) own() error {
	for _, f := range b.c.Folders {
		target := filepath.Join(f.Base, filepath.Join(f.Elems...))
		if i := slices.IndexFunc(b.out, func(m mount) bool { return strings.HasPrefix(target+"/", m.Target+"/") }); i >= 0 {
			return fmt.Errorf("the container asks for a mount at %s, where its own folder %s is", b.out[i].Target, target)
		}
		fd, err := openBelow(f.Base, f.Elems...)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no file was localized there
		}
		if err != nil {
			return err
		}
		if err := b.add(fd, target, f.Write); err != nil {
			return err
		}
	}
	return nil
}

// devices gives the container its device files. Its cgroup decides which it may use, too, where the node holds it to its GPUs.
func (b *binding) devices() error {
	for _, d := range b.c.Devices {
		if info, err := os.Stat(d); err == nil && info.Mode()&fs.ModeDevice != 0 {
			b.out = append(b.out, mount{d, "bind", d, []string{"bind", "nosuid", "noexec", "rw"}})
		}
	}
	return nil
}
