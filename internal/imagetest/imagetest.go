// Package imagetest makes images for tests, of programs of this machine, in the formats that nodes read.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Layer is a tar archive.
type Layer []byte

// Digest returns the sha256 of bytes, in hexadecimal digits.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Tar returns a layer with these entries. A header without a size gets that of its content, and root as its owner.
func Tar(t testing.TB, entries ...Entry) Layer {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		if e.Typeflag == 0 {
			e.Typeflag = tar.TypeReg
		}
		if e.Mode == 0 {
			e.Mode = 0o755
		}
		if e.Size == 0 {
			e.Size = int64(len(e.Content))
		}
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.Content); err != nil {
			t.Fatal(err)
		}
	}
	if last := len(entries) - 1; entries[last].Size <= int64(len(entries[last].Content)) { // else it is a lie, which Flush would complain of
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	return append(b.Bytes(), make([]byte, 1024)...)
}

// Entry is a member of a layer.
type Entry struct {
	tar.Header
	Content []byte
}

// File returns an entry of a file.
func File(name, content string) Entry {
	return Entry{Header: tar.Header{Name: name}, Content: []byte(content)}
}

// Link returns an entry of a symbolic link.
func Link(name, target string) Entry {
	return Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target}}
}

// Dir returns an entry of a folder.
func Dir(name string, mode int64) Entry {
	return Entry{Header: tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: mode}}
}

var library = regexp.MustCompile(`(/[^ ]+) \(0x`)

// Programs returns a layer with bash and some of this machine's programs or libraries, by name or path, and the libraries that they need. All are in /bin.
func Programs(t testing.TB, names ...string) Layer {
	t.Helper()
	seen := map[string]bool{}
	entries := []Entry{Dir("tmp", 0o1777), Dir("etc", 0o755), File("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")}
	add := func(path, as string) {
		if seen[as] {
			return
		}
		seen[as] = true
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, Entry{Header: tar.Header{Name: strings.TrimPrefix(as, "/")}, Content: content})
	}
	for _, name := range append([]string{"bash"}, names...) {
		path, err := name, error(nil)
		if !filepath.IsAbs(name) {
			path, err = exec.LookPath(name)
		}
		if err != nil {
			t.Fatal(err)
		}
		add(path, "/bin/"+filepath.Base(name))
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatalf("ldd %s: %v", path, err)
		}
		for _, m := range library.FindAllStringSubmatch(string(out), -1) {
			add(m[1], m[1])
		}
	}
	return Tar(t, entries...)
}

// Image is an image in the making.
type Image struct {
	Layers     []Layer
	Env        []string
	Entrypoint []string
	Cmd        []string
	Gzip       bool
	Zstd       bool
}

func (i Image) config(t testing.TB) []byte {
	t.Helper()
	var ids []string
	for _, l := range i.Layers {
		ids = append(ids, "sha256:"+Digest(l))
	}
	return text(t, map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "config": map[string]any{"Env": i.Env, "Entrypoint": i.Entrypoint, "Cmd": i.Cmd},
		"rootfs": map[string]any{"type": "layers", "diff_ids": ids},
	})
}

func text(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Blobs returns the files of an OCI layout, by path.
func (i Image) Blobs(t testing.TB, tag string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	put := func(b []byte) map[string]any {
		files["blobs/sha256/"+Digest(b)] = b
		return map[string]any{"digest": "sha256:" + Digest(b), "size": len(b)}
	}
	var layers []any
	for _, l := range i.Layers {
		b := []byte(l)
		if i.Gzip {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			if _, err := w.Write(b); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			b = z.Bytes()
		}
		if i.Zstd {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			b = w.EncodeAll(b, nil)
		}
		layers = append(layers, typed(put(b), "application/vnd.oci.image.layer.v1.tar"))
	}
	manifest := put(text(t, typed(map[string]any{
		"schemaVersion": 2, "config": typed(put(i.config(t)), "application/vnd.oci.image.config.v1+json"), "layers": layers,
	}, ManifestType)))
	if tag != "" {
		manifest["annotations"] = map[string]string{"org.opencontainers.image.ref.name": tag}
	}
	files["index.json"] = text(t, map[string]any{"schemaVersion": 2, "manifests": []any{manifest}})
	return files
}

func typed(m map[string]any, kind string) map[string]any {
	m["mediaType"] = kind
	return m
}

// Layout writes an OCI layout into a folder. Without a tag it has that one image alone.
func (i Image) Layout(t testing.TB, dir, tag string) {
	t.Helper()
	for name, b := range i.Blobs(t, tag) {
		write(t, filepath.Join(dir, name), b)
	}
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Archive writes an OCI layout as a tar archive.
func (i Image) Archive(t testing.TB, path, tag string) {
	t.Helper()
	var entries []Entry
	for name, b := range i.Blobs(t, tag) {
		entries = append(entries, File(name, string(b)))
	}
	write(t, path, Tar(t, entries...))
}

// Saved writes the image as "docker save" does.
func (i Image) Saved(t testing.TB, path string, tags ...string) {
	t.Helper()
	config := i.config(t)
	entries := []Entry{File(Digest(config)+".json", string(config))}
	var layers []string
	for n, l := range i.Layers {
		name := fmt.Sprintf("%d/layer.tar", n)
		layers = append(layers, name)
		entries = append(entries, File(name, string(l)))
	}
	list := text(t, []any{map[string]any{"Config": Digest(config) + ".json", "RepoTags": tags, "Layers": layers}})
	write(t, path, Tar(t, append(entries, File("manifest.json", string(list)))...))
}
