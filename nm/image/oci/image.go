package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxText bounds an index, manifest or config, in bytes.
const MaxText = 4 << 20

// Bounds of what an image may have.
const (
	maxLayers = 128
	maxItems  = 10_000 // of an index or archive
	maxDepth  = 4      // of indices that lead to others
)

// Image is an image that was found.
type Image struct {
	Config Config
	Layers []Layer // the lowest first
	closer io.Closer
}

// Close closes the files that the image's layers are read from.
func (i *Image) Close() error {
	if i.closer == nil {
		return nil
	}
	return i.closer.Close()
}

// Layer is one layer of an image.
type Layer struct {
	DiffID string // sha256 of the layer's tar archive, in hexadecimal digits: what identifies the layer
	Digest string // sha256 of what Open returns; "" if it isn't known
	Open   func() (io.ReadCloser, error)
	// Fetch copies what Open would return from another machine, beginning at that byte; nil: it is here. It fails rather than wait for a silent server.
	Fetch func(ctx context.Context, to io.Writer, from int64) error
	Size  int64 // bytes that Fetch copies in all
	// Squashfs says that it comes as a squashfs file. Digest and DiffID tell it apart from others then, and are digests of none of its bytes.
	Squashfs bool
}

// Config says how an image is run.
type Config struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Config       struct {
		Env        []string `json:"Env"`
		Entrypoint []string `json:"Entrypoint"`
		Cmd        []string `json:"Cmd"`
		WorkingDir string   `json:"WorkingDir"`
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// Descriptor names a blob by its digest.
type Descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
	Platform    *struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	} `json:"platform"`
}

// runsHere reports whether a manifest is for this machine, as far as it says.
func (d *Descriptor) runsHere() bool {
	return d.Platform == nil || d.Platform.OS == "linux" && d.Platform.Architecture == architecture
}

// manifest is an OCI or Docker manifest, or an index (list) of manifests.
type manifest struct {
	Config    Descriptor   `json:"config"`
	Layers    []Descriptor `json:"layers"`
	Manifests []Descriptor `json:"manifests"`
}

// saved is an image in the file manifest.json of "docker save".
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// parseDigest returns the hexadecimal digits of a digest.
func parseDigest(digest string) (string, error) {
	if h, ok := strings.CutPrefix(digest, "sha256:"); ok && hexDigest.MatchString(h) {
		return h, nil
	}
	return "", fmt.Errorf("digest %.100q is not sha256: and 64 hexadecimal digits", digest)
}

// parseConfig reads a config, and checks that it has as many layers as its manifest; -1: there is none.
func parseConfig(text []byte, layers int) (c Config, ids []string, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return c, nil, fmt.Errorf("config: %w", err)
	}
	if c.OS != "" && c.OS != "linux" {
		return c, nil, fmt.Errorf("the image is for %.40q, not for linux", c.OS)
	}
	if c.Architecture != "" && c.Architecture != architecture {
		return c, nil, fmt.Errorf("the image is for processors of architecture %.40q, and this node's is %s",
			c.Architecture, architecture)
	}
	if n := len(c.RootFS.DiffIDs); layers >= 0 && n != layers || n == 0 || n > maxLayers {
		return c, nil, fmt.Errorf("config and manifest have %d and %d layers: want the same number, from 1 to %d", n,
			layers, maxLayers)
	}
	for _, id := range c.RootFS.DiffIDs {
		h, err := parseDigest(id)
		if err != nil {
			return c, nil, fmt.Errorf("config: layer: %w", err)
		}
		ids = append(ids, h)
	}
	return c, ids, nil
}

func parseManifest(text []byte) (m manifest, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("manifest: %w", err)
	}
	if len(m.Manifests) > maxItems || len(m.Layers) > maxLayers {
		return m, fmt.Errorf("manifest: %d manifests and %d layers; at most %d and %d may be there", len(m.Manifests),
			len(m.Layers), maxItems, maxLayers)
	}
	return m, nil
}

func parseSaved(text []byte) (all []saved, err error) {
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	if len(all) > maxItems {
		return nil, fmt.Errorf("manifest.json: %d images; at most %d may be there", len(all), maxItems)
	}
	return all, nil
}

// refName is the annotation by which an index names a manifest.
const refName = "org.opencontainers.image.ref.name"

// choose returns the manifest of an index that has the tag or digest of a name, or is the only one, and is for this machine.
func choose(all []Descriptor, n Name) (Descriptor, error) {
	var fit []Descriptor
	for _, d := range all {
		if d.runsHere() {
			fit = append(fit, d)
		}
	}
	named := slices.DeleteFunc(slices.Clone(fit), func(d Descriptor) bool {
		ref := d.Annotations[refName]
		return ref == "" || ref != n.Tag && ref != n.String()
	})
	pinned := slices.DeleteFunc(slices.Clone(fit), func(d Descriptor) bool { return d.Digest != "sha256:"+n.Digest })
	switch {
	case n.Digest != "" && len(pinned) > 0:
		return pinned[0], nil
	case n.Digest != "":
		return Descriptor{}, fmt.Errorf("it has no manifest sha256:%s for %s", n.Digest, architecture)
	case len(named) > 0:
		return named[0], nil
	case len(fit) == 1 && fit[0].Annotations[refName] == "":
		return fit[0], nil
	}
	return Descriptor{}, fmt.Errorf("it has no manifest with tag %s for %s, and %d others", n.Tag, architecture, len(all))
}

// CheckDigest fails if text hasn't this sha256, in hexadecimal digits.
func CheckDigest(text []byte, digest string) error {
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:]); got != digest {
		return fmt.Errorf("its digest is sha256:%s, not sha256:%s", got, digest)
	}
	return nil
}
