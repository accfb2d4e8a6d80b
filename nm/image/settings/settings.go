// Package settings reads how a node runs images: the keys of yarn-site.xml, and the sections of container-executor.cfg.
package settings

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/conf"
	"heddle/internal/bounded"
	"heddle/internal/trust"
	"heddle/nm/image"
	"heddle/nm/image/layer"
	"heddle/nm/image/request"
	"heddle/nm/image/runc"
	"heddle/nm/image/store"
)

// Of returns how images are run; nil if containers run on the machine only. sections are those of container-executor.cfg about runtimes,
// state is the folder of the node's state. note is a warning for the administrator.
func Of(c *conf.Config, sections map[string]map[string]string, state string) (of *image.Config, note string, err error) {
	const prefix = "heddle.nodemanager.images."
	cfg := &image.Config{
		Settings: request.Settings{Usual: c.Text("yarn.nodemanager.runtime.linux.type"), Kinds: map[string]request.Terms{}},
		Dirs:     c.Paths(prefix + "dirs"), Docker: c.Text(prefix + "docker-socket"), Runtime: c.Text(prefix + "runtime"),
		Seccomp: map[string]any{},
		Store: store.Config{
			Dir: c.Text(prefix + "store"), MaxBytes: int64(c.Int(prefix+"store-mb")) << 20,
			MaxAge: max(0, c.Duration(prefix+"unused-ms")),
			Image:  layer.Limits{Bytes: int64(c.Int(prefix+"max-image-mb")) << 20, Entries: int64(c.Int(prefix + "max-entries"))},
		},
	}
	for _, kind := range []string{request.Docker, request.Runc} {
		if !slices.ContainsFunc(c.Strings("yarn.nodemanager.runtime.linux.allowed-runtimes"), func(a string) bool { return strings.EqualFold(a, kind) }) {
			continue
		}
		cfg.Settings.Kinds[kind] = terms(c, kind, sections[kind])
	}
	if len(cfg.Settings.Kinds) == 0 {
		return nil, "", nil
	}
	if cfg.Store.Dir == "" {
		cfg.Store.Dir = filepath.Join(state, "images")
	} else if err := trust.Check(filepath.Dir(cfg.Store.Dir)); err != nil {
		return nil, "", fmt.Errorf("%sstore: %w", prefix, err)
	}
	if cfg.Registry, err = registries(c); err != nil {
		return nil, "", err
	}
	if cfg.Runc, err = hadoops(c, cfg); err != nil {
		return nil, "", err
	}
	if cfg.Runc != nil && len(cfg.Dirs) == 0 && cfg.Registry == nil && cfg.Docker == "" {
		if _, err := exec.LookPath(cfg.Runtime); err != nil {
			return nil, "Containers that ask for images are refused: this machine has no " + cfg.Runtime + " (" + prefix + "runtime)", nil
		}
	}
	if len(cfg.Dirs) == 0 && cfg.Registry == nil && cfg.Runc == nil && cfg.Docker == "" {
		return nil, "Containers that ask for images are refused: yarn.nodemanager.runtime.linux.allowed-runtimes admits them, and neither " + prefix + "dirs nor " + prefix +
			"registries names a place that has any", nil
	}
	for _, dir := range cfg.Dirs {
		if err := trust.Check(dir); err != nil {
			return nil, "", fmt.Errorf("%sdirs: %w", prefix, err)
		}
	}
	return cfg, "", seccomp(c, cfg)
}

// hadoops returns where images of runtime runc are; nil if it isn't allowed.
func hadoops(c *conf.Config, cfg *image.Config) (*runc.Config, error) {
	if _, ok := cfg.Settings.Kinds[request.Runc]; !ok {
		return nil, nil
	}
	const prefix = "yarn.nodemanager.runtime.linux.runc."
	for key, class := range map[string]string{prefix + "image-tag-to-manifest-plugin": "ImageTagToManifestPlugin", prefix + "manifest-to-resources-plugin": "HdfsManifestToResourcesPlugin"} {
		if name := c.Text(key); !strings.HasSuffix(name, ".runc."+class) {
			return nil, fmt.Errorf("%s = %s: Heddle has only what YARN's %s does", key, name, class)
		}
	}
	const tags = prefix + "image-tag-to-manifest-plugin."
	seconds := func(key string) time.Duration { return time.Duration(c.Int(key)) * time.Second }
	return &runc.Config{
		Top: c.Text(prefix + "image-toplevel-dir"), Tags: c.Text(tags + "hdfs-hash-file"),
		LocalTags: c.Text(tags + "local-hash-file"),
		Refresh:   seconds(tags + "cache-refresh-interval-secs"), Images: c.Int(tags + "num-manifests-to-cache"),
		Stat: seconds(prefix + "hdfs-manifest-to-resources-plugin.stat-cache-timeout-interval-secs"),
	}, nil
}

func terms(c *conf.Config, kind string, section request.Section) request.Terms {
	prefix := "yarn.nodemanager.runtime.linux." + kind + "."
	t := request.Terms{
		Image: c.Text(prefix + "image-name"), Networks: c.Strings(prefix + "allowed-container-networks"), Network: "host",
		Runtimes: c.Strings(prefix + "allowed-container-runtimes"), ROMounts: c.Strings(prefix + "default-ro-mounts"),
		RWMounts: c.Strings(prefix + "default-rw-mounts"), HostPID: c.Bool(prefix + "host-pid-namespace.allowed"),
		Section: section,
	}
	if kind == request.Docker {
		t.Update = c.Bool(prefix + "image-update")
		t.Network, t.Capabilities, t.Tmpfs = c.Text(prefix+"default-container-network"), c.Strings(prefix+"capabilities"), c.Strings(prefix+"default-tmpfs-mounts")
	}
	return t
}

// maxSeccomp bounds a seccomp profile, in bytes.
const maxSeccomp = 1 << 20

func seccomp(c *conf.Config, cfg *image.Config) error {
	const key = "yarn.nodemanager.runtime.linux.runc.seccomp-profile"
	path := c.Text(key)
	if path == "" {
		return nil
	}
	text, err := bounded.ReadFile(path, maxSeccomp)
	var profile map[string]any
	if err == nil {
		err = json.Unmarshal(text, &profile)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	cfg.Seccomp[request.Runc] = profile
	return nil
}
