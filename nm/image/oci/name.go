// Package oci reads names of images, and images in folders: OCI layouts, and archives as "docker save" and "skopeo copy" write
// them. The maker of an image may be hostile: sizes and counts are bounded, and what has a digest is checked against it.
package oci

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Name is the name of an image.
type Name struct {
	Registry   string // such as registry.example.com:5000; "" if the name has none
	Repository string // such as team/python
	Tag        string // latest if the name has neither tag nor digest
	Digest     string // 64 hexadecimal digits, or ""
}

// maxName bounds the length of a name, in bytes.
const maxName = 512

// Parts of a name, narrower than those of Hadoop's DockerLinuxContainerRuntime: no part of a repository begins with a dot.
var (
	registry   = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*(\.[a-zA-Z0-9][a-zA-Z0-9-]*)*(:[0-9]{1,5})?$`)
	repository = regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	tag        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	hexDigest  = regexp.MustCompile(`^[a-f0-9]{64}$`)
)

// ParseName reads the name of an image: [REGISTRY/]REPOSITORY[:TAG][@sha256:DIGEST].
func ParseName(text string) (n Name, err error) {
	bad := func() (Name, error) {
		return Name{}, fmt.Errorf("Image name '%.200s' doesn't match docker image name pattern: want [REGISTRY/]NAME[:TAG][@sha256:DIGEST]", text)
	}
	if len(text) > maxName {
		return bad()
	}
	rest, digest, pinned := strings.Cut(text, "@")
	if pinned {
		hex, ok := strings.CutPrefix(digest, "sha256:")
		if !ok || !hexDigest.MatchString(hex) {
			return bad()
		}
		n.Digest = hex
	}
	if first, path, ok := strings.Cut(rest, "/"); ok && (strings.ContainsAny(first, ".:") || first == "localhost") {
		if !registry.MatchString(first) {
			return bad()
		}
		n.Registry, rest = first, path
	}
	n.Repository, n.Tag, _ = strings.Cut(rest, ":")
	if !repository.MatchString(n.Repository) || n.Tag == "" && strings.Contains(rest, ":") {
		return bad()
	}
	if n.Tag == "" && !pinned {
		n.Tag = "latest"
	}
	if n.Tag != "" && !tag.MatchString(n.Tag) {
		return bad()
	}
	return n, nil
}

// Path returns the image's folder below one of images. The port of a registry follows a _, as names of files in HDFS have no colon.
func (n Name) Path() string {
	return filepath.Join(strings.ReplaceAll(n.Registry, ":", "_"), filepath.FromSlash(n.Repository))
}

func (n Name) String() string {
	s := n.Repository
	if n.Registry != "" {
		s = n.Registry + "/" + s
	}
	if n.Tag != "" {
		s += ":" + n.Tag
	}
	if n.Digest != "" {
		s += "@sha256:" + n.Digest
	}
	return s
}

// Trusted reports whether one of the registries has the image (docker.trusted.registries in container-executor.cfg): it is the
// beginning of the name up to a slash. "library" stands for names without a slash.
func (n Name) Trusted(registries []string) bool {
	whole := n.String()
	for _, r := range registries {
		r = strings.TrimSuffix(r, "/")
		if r == "library" && !strings.Contains(whole, "/") || r != "" && strings.HasPrefix(whole, r+"/") {
			return true
		}
	}
	return false
}
