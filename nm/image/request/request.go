// Package request reads which image a container asks for, and decides what of it is allowed.
//
// Variables, keys and the sections of container-executor.cfg are those of Hadoop's DockerLinuxContainerRuntime, RuncContainerRuntime
// and container-executor. What no administrator has allowed is refused. The package is pure.
package request

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"heddle/nm/image/oci"
	"heddle/nm/launch"
)

// Kinds of runtimes. Heddle runs both in the same way; they differ in their names of variables and keys.
const (
	Docker = "docker"
	Runc   = "runc"
)

// Terms say what an administrator allows containers of one kind.
type Terms struct {
	// Of yarn-site.xml, below yarn.nodemanager.runtime.linux.KIND.
	Image          string   // of containers that name none
	Networks       []string // allowed-container-networks
	Network        string   // default-container-network
	Runtimes       []string // allowed-container-runtimes
	Capabilities   []string
	ROMounts       []string // default-ro-mounts: SOURCE:DESTINATION
	RWMounts       []string
	Tmpfs          []string
	HostPID        bool // host-pid-namespace.allowed
	Privileged     bool // privileged-containers.allowed: Heddle refuses these nevertheless
	DelayedRemoval bool
	Update         bool // image-update: ask a registry each time

	// Of the section of container-executor.cfg.
	Section Section
}

// Section is a section of container-executor.cfg. Names of keys are without the kind and the dot after it.
type Section map[string]string

// Enabled reports whether the module is on.
func (s Section) Enabled() bool {
	v := s["module.enabled"]
	return strings.EqualFold(v, "true") || v == "1"
}

func (s Section) list(key string) []string {
	var out []string
	for item := range strings.SplitSeq(s[key], ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// Effective are the keys of a section that have an effect, without the kind and the dot.
func Effective(kind string) []string {
	keys := []string{
		"module.enabled", "allowed.ro-mounts", "allowed.rw-mounts", "allowed.networks", "allowed.capabilities",
		"host-pid-namespace.enabled",
		"no-new-privileges.enabled", "privileged-containers.enabled",
	}
	if kind == Docker {
		keys = append(keys, "trusted.registries", "privileged-containers.registries")
	}
	return keys
}

// Settings are the terms of all kinds that are allowed (yarn.nodemanager.runtime.linux.allowed-runtimes).
type Settings struct {
	Usual string           // yarn.nodemanager.runtime.linux.type
	Kinds map[string]Terms // nil: none
}

// Mount is a folder or file that a container gets.
type Mount struct {
	Source string // absolute; with Resource the name of a localized resource
	Target string // absolute, clean
	Write  bool

	Resource bool
}

// Request is an image that a container may have, and how.
type Request struct {
	Kind         string
	Image        oci.Name
	Text         string // the image's name as it was asked for
	EntryPoint   bool   // the image's entry point is run, not the launch script
	Network      string
	Hostname     string // "": the machine's
	Mounts       []Mount
	Tmpfs        []string
	HostPID      bool
	Capabilities []string // most that a program may ever get, with CAP_
	Fresh        bool     // the registry is asked which image has the name now
	Logins       string   // URI of a config.json of Docker's with logins to registries; "": none
}

// of returns the variable of a kind, such as YARN_CONTAINER_RUNTIME_DOCKER_IMAGE.
func of(kind, name string) string {
	return "YARN_CONTAINER_RUNTIME_" + strings.ToUpper(kind) + "_" + name
}

// Kind returns the runtime that a container asks for, "" if it is the machine itself, and by which variable or key it does.
func (s Settings) Kind(env map[string]string) (kind, by string) {
	kind, by = env[launch.RuntimeType], launch.RuntimeType
	if kind == "" {
		kind, by = s.Usual, "yarn.nodemanager.runtime.linux.type"
	}
	if kind == "default" {
		kind = ""
	}
	return kind, by
}

// Read returns what a container asks for, nil if it asks for no image. It fails if that isn't allowed, and says which key would allow it.
func (s Settings) Read(env map[string]string) (*Request, error) {
	kind, _ := s.Kind(env)
	t, ok := s.Kinds[kind]
	if !ok {
		return nil, nil // launch.Runtimes judges it
	}
	r, err := t.read(kind, env)
	if err != nil {
		return nil, fmt.Errorf("runtime %s: %w", kind, err)
	}
	return r, nil
}

func (t Terms) read(kind string, env map[string]string) (*Request, error) {
	if !t.Section.Enabled() {
		return nil, fmt.Errorf("it is off: set module.enabled=true in section [%s] of container-executor.cfg", kind)
	}
	r := &Request{
		Kind: kind, EntryPoint: env[of(kind, "RUN_OVERRIDE_DISABLE")] == "true", Fresh: t.Update,
		Logins: env[of(kind, "CLIENT_CONFIG")],
	}
	for _, step := range []func(*Request, map[string]string) error{
		t.image, t.refuse, t.network, t.hostname, t.pid, t.capabilities, t.mounts, t.tmpfs,
	} {
		if err := step(r, env); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (t Terms) image(r *Request, env map[string]string) (err error) {
	variable := of(r.Kind, "IMAGE")
	name := env[variable]
	if name == "" {
		name = t.Image
	}
	if name == "" {
		return fmt.Errorf("%s not set", variable)
	}
	r.Text = name
	if r.Image, err = oci.ParseName(name); err != nil {
		return err
	}
	if r.Kind != Docker || r.Image.Trusted(t.Section.list("trusted.registries")) || r.Image.Trusted(t.Section.list("privileged-containers.registries")) {
		return nil
	}
	return fmt.Errorf("image %s is of no trusted registry: docker.trusted.registries in section [docker] of container-executor.cfg has %q; "+
		"library there trusts names without a slash", r.Image, t.Section["trusted.registries"])
}

// refuse fails for what Heddle never gives a container.
func (t Terms) refuse(r *Request, env map[string]string) error {
	if v := of(r.Kind, "RUN_PRIVILEGED_CONTAINER"); strings.EqualFold(env[v], "true") {
		//lint:ignore ST1005 Hadoop's words
		return fmt.Errorf("Privileged container being requested but privileged containers are not enabled on this cluster (%s): Heddle never runs them", v)
	}
	if v := of(r.Kind, "RUNTIME"); env[v] != "" && !slices.Contains(t.Runtimes, env[v]) {
		return fmt.Errorf("%s is %.100q, and yarn.nodemanager.runtime.linux.%s.allowed-container-runtimes is %s", v, env[v],
			r.Kind, strings.Join(t.Runtimes, ","))
	}
	if v := of(r.Kind, "PORTS_MAPPING"); env[v] != "" {
		return fmt.Errorf("%s: ports are mapped in networks of Docker's only, which Heddle has none of; with network host the container has the machine's ports", v)
	}
	return nil
}

// known are the networks that Heddle can give a container: the machine's, and none.
var known = []string{"host", "none"}

func (t Terms) network(r *Request, env map[string]string) error {
	r.Network = env[of(r.Kind, "CONTAINER_NETWORK")]
	if r.Network == "" {
		r.Network = t.Network
	}
	if !slices.Contains(t.Networks, r.Network) {
		//lint:ignore ST1005 Hadoop's words
		return fmt.Errorf("Disallowed network:  '%.100s' specified. Allowed networks: are [%s] (yarn.nodemanager.runtime.linux.%s.allowed-container-networks)",
			r.Network, strings.Join(t.Networks, ", "), r.Kind)
	}
	if r.Kind == Docker && !slices.Contains(t.Section.list("allowed.networks"), r.Network) {
		return fmt.Errorf("network %.100s isn't in docker.allowed.networks of section [docker] of container-executor.cfg, which has %q", r.Network, t.Section["allowed.networks"])
	}
	if !slices.Contains(known, r.Network) {
		return fmt.Errorf("network %.100s: Heddle gives containers in images the machine's network (host), or none: set %s, or its default yarn.nodemanager.runtime.linux.%s.default-container-network, to host or none",
			r.Network, of(r.Kind, "CONTAINER_NETWORK"), r.Kind)
	}
	return nil
}

// host matches names of hosts, as in Hadoop.
var host = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

const maxHost = 64 // bytes; Linux takes no more

func (t Terms) hostname(r *Request, env map[string]string) error {
	name := env[of(r.Kind, "CONTAINER_HOSTNAME")]
	if name != "" && (!host.MatchString(name) || len(name) > maxHost) {
		//lint:ignore ST1005 Hadoop's words
		return fmt.Errorf("Hostname '%.100s' doesn't match docker hostname pattern, or has more than %d characters", name,
			maxHost)
	}
	if r.Network != "host" {
		r.Hostname = name
	}
	return nil
}

func (t Terms) pid(r *Request, env map[string]string) error {
	v := of(r.Kind, "CONTAINER_PID_NAMESPACE")
	if !strings.EqualFold(env[v], "host") {
		return nil
	}
	if !t.HostPID || !yes(t.Section["host-pid-namespace.enabled"]) {
		//lint:ignore ST1005 Hadoop's words
		return fmt.Errorf("Host pid namespace being requested but this is not enabled on this cluster: %s needs "+
			"yarn.nodemanager.runtime.linux.%s.host-pid-namespace.allowed, and %[2]s.host-pid-namespace.enabled in container-executor.cfg", v, r.Kind)
	}
	r.HostPID = true
	return nil
}

func yes(v string) bool { return strings.EqualFold(v, "true") || v == "1" }

// capabilities bounds those of yarn-site.xml by those of container-executor.cfg.
func (t Terms) capabilities(r *Request, _ map[string]string) error {
	allowed := t.Section.list("allowed.capabilities")
	for _, c := range t.Capabilities {
		if strings.EqualFold(c, "none") {
			if len(t.Capabilities) > 1 {
				//lint:ignore ST1005 Hadoop's words
				return errors.New("Mixing capabilities with the none keyword is not supported")
			}
			return nil
		}
		if !slices.ContainsFunc(allowed, func(a string) bool { return strings.EqualFold(a, c) }) {
			continue
		}
		r.Capabilities = append(r.Capabilities, "CAP_"+strings.TrimPrefix(strings.ToUpper(c), "CAP_"))
	}
	return nil
}

// reserved are folders that a container gets from the node, and that no mount may cover.
var reserved = []string{"/proc", "/sys", "/dev"}

// Target checks where in a container something is mounted.
func Target(target string) (string, error) {
	clean := path.Clean(target)
	switch {
	case !path.IsAbs(target) || strings.ContainsRune(target, 0) || slices.Contains(strings.Split(target, "/"), ".."):
		return "", fmt.Errorf("mount at %.200q: want an absolute path, and no .. in it", target)
	case clean == "/":
		return "", errors.New("mount at /: it would hide the image")
	case slices.ContainsFunc(reserved, func(r string) bool { return clean == r || strings.HasPrefix(clean, r+"/") }):
		return "", fmt.Errorf("mount at %.200q: nothing may be mounted in %s", target, strings.Join(reserved, ", "))
	}
	return clean, nil
}
