// Package bundle prepares a container for an OCI runtime: its root, an overlay over the layers of its image; what is mounted there;
// and config.json. The runtime runs it as the container's user, without a way to more rights.
//
// All mounts are made in a mount namespace of the container's, so that they end with its processes, in whatever way these end.
package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/internal/userfiles"
	"heddle/nm/image/request"
)

// spec is config.json (OCI runtime specification 1.0.2), as far as it is used.
type spec struct {
	Version  string   `json:"ociVersion"`
	Process  process  `json:"process"`
	Root     rootPath `json:"root"`
	Hostname string   `json:"hostname,omitempty"`
	Mounts   []mount  `json:"mounts"`
	Linux    linux    `json:"linux"`
}

type process struct {
	Terminal     bool                `json:"terminal"`
	User         user                `json:"user"`
	Args         []string            `json:"args"`
	Env          []string            `json:"env"`
	Dir          string              `json:"cwd"`
	Capabilities map[string][]string `json:"capabilities"`
	NoNewRights  bool                `json:"noNewPrivileges"`
}

type user struct {
	UID    int    `json:"uid"`
	GID    int    `json:"gid"`
	Groups []int  `json:"additionalGids,omitempty"`
	Umask  uint32 `json:"umask"`
}

type rootPath struct {
	Path string `json:"path"`
}

type mount struct {
	Target  string   `json:"destination"`
	Type    string   `json:"type"`
	Source  string   `json:"source"`
	Options []string `json:"options,omitempty"`
}

type namespace struct {
	Type string `json:"type"`
}

type linux struct {
	Namespaces []namespace `json:"namespaces"`
	Masked     []string    `json:"maskedPaths"`
	ReadOnly   []string    `json:"readonlyPaths"`
	Seccomp    any         `json:"seccomp,omitempty"`
}

// Paths of the kernel's that Docker hides, or makes read-only.
var (
	masked = []string{
		"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
		"/proc/timer_list", "/proc/timer_stats",
		"/sys/firmware", "/sys/devices/virtual/powercap",
	}
	readOnly = []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)

// system are the mounts that each container has.
var system = []mount{
	{"/proc", "proc", "proc", []string{"nosuid", "noexec", "nodev"}},
	{"/dev", "tmpfs", "tmpfs", []string{"nosuid", "noexec", "strictatime", "mode=755", "size=65536k"}},
	{"/dev/pts", "devpts", "devpts", []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
	{"/dev/shm", "tmpfs", "shm", []string{"nosuid", "noexec", "nodev", "mode=1777"}}, // the group's memory bounds it
	{"/dev/mqueue", "mqueue", "mqueue", []string{"nosuid", "noexec", "nodev"}},
	{"/sys", "sysfs", "sysfs", []string{"nosuid", "noexec", "nodev", "ro"}},
}

// umask applies to a container's processes, as in Hadoop's container-executor.
const umask = 0o027

// compose returns config.json. binds are mounts that were prepared.
func (c *Container) compose(binds []mount) ([]byte, error) {
	s := spec{Version: "1.0.2", Root: rootPath{c.path(rootDir)}, Hostname: c.Request.Hostname}
	s.Process = process{
		User: user{c.User.UID, c.User.GID, c.User.Groups, umask}, Args: c.Args, Env: c.env(), Dir: c.Work, NoNewRights: true,
		// What a program could get from a file's capabilities, which it can't: NoNewRights.
		Capabilities: map[string][]string{"bounding": c.Request.Capabilities},
	}
	s.Mounts = append(slices.Clone(system), binds...)
	for _, t := range c.Request.Tmpfs {
		s.Mounts = append(s.Mounts, mount{t, "tmpfs", "tmpfs", []string{"nosuid", "noexec", "nodev", "mode=1777"}})
	}
	kinds := []string{"mount", "ipc", "uts"}
	if !c.Request.HostPID {
		kinds = append(kinds, "pid")
	}
	if c.Request.Network == "none" {
		kinds = append(kinds, "network")
	}
	for _, k := range kinds {
		s.Linux.Namespaces = append(s.Linux.Namespaces, namespace{k})
	}
	s.Linux.Masked, s.Linux.ReadOnly, s.Linux.Seccomp = masked, readOnly, c.Seccomp
	return json.Marshal(s)
}

// env returns the variables of the image, with those of the container in their place.
func (c *Container) env() []string {
	all := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, v := range slices.Concat(c.Config.Config.Env, c.Env) {
		if name, value, ok := strings.Cut(v, "="); ok && name != "" && !strings.ContainsRune(v, 0) {
			all[name] = value
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return out
}

// plainName matches names of users that have a place in a line of /etc/passwd.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,255}\$?$`)

// withAccount adds a user to the text of an /etc/passwd; nil if it has the user, or another with the same name or number.
func withAccount(text []byte, name string, u *Owner, home string) []byte {
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) > 2 && (f[2] == strconv.Itoa(u.UID) || f[0] == name) {
			return nil
		}
	}
	if n := len(text); n > 0 && text[n-1] != '\n' {
		text = append(text, '\n')
	}
	return fmt.Appendf(text, "%s:x:%d:%d::%s:/bin/bash\n", name, u.UID, u.GID,
		strings.NewReplacer(":", "", "\n", "").Replace(home))
}

// Folder is a folder or file of the node's that a container gets at its own path. No link below Base is followed: users own
// what is there.
type Folder struct {
	Base  string // a folder of the administrator's
	Elems []string
	Write bool
}

// Allowed judges mounts that a container asks for; see request.Terms.
type Allowed func(real string, write bool, resolve func(string) (string, error)) bool

// Owner is a container's user.
type Owner = userfiles.User

var _ Allowed = request.Terms{}.Allowed
