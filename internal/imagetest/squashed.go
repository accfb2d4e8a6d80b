package imagetest

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"heddle/internal/needs"
)

// Squash makes a squashfs file of a layer.
func Squash(t testing.TB, l Layer, path string) {
	t.Helper()
	cmd := exec.Command(needs.Program(t, "tar2sqfs"), "-q", "-f", path)
	cmd.Stdin = bytes.NewReader(l)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tar2sqfs: %v: %s", err, out)
	}
}

// Squashed writes the image in the layout of Hadoop's runC runtime, and a file that gives it the tags. It returns the digest of its manifest.
func (i Image) Squashed(t testing.TB, dir, tags string) string {
	t.Helper()
	const layer, config = "application/vnd.docker.image.rootfs.diff.tar.gzip", "application/vnd.docker.container.image.v1+json"
	var layers []any
	write(t, filepath.Join(dir, "layers", "x"), nil)
	for _, l := range i.Layers {
		name := Digest(append([]byte("as it was in Docker"), l...))
		Squash(t, l, filepath.Join(dir, "layers", name+".sqsh"))
		layers = append(layers, map[string]any{"mediaType": layer, "digest": "sha256:" + name, "size": len(l)})
	}
	c := i.config(t)
	write(t, filepath.Join(dir, "config", Digest(c)), c)
	m := text(t, map[string]any{"schemaVersion": 2, "config": map[string]any{"mediaType": config, "digest": "sha256:" + Digest(c), "size": len(c)}, "layers": layers})
	write(t, filepath.Join(dir, "manifests", Digest(m)), m)
	write(t, filepath.Join(dir, "image-tag-to-hash"), fmt.Appendf(nil, "# tags\n%s:%s# the image\n", tags, Digest(m)))
	return Digest(m)
}
