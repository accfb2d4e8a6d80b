package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"heddle/internal/bounded"
)

// architecture is this machine's, in the words of images.
const architecture = runtime.GOARCH

// ErrNotFound says that no folder has the image.
var ErrNotFound = errors.New("no such image")

// Find opens the image of that name in the first folder that has it. In folder DIR the image REPOSITORY:TAG is, in this order,
// the file DIR/REPOSITORY/TAG.tar, or an OCI layout that is the folder DIR/REPOSITORY/TAG or, with the tag in its index,
// DIR/REPOSITORY. The folders and what is in them must be an administrator's.
func Find(dirs []string, n Name) (*Image, error) {
	var places []string
	for _, dir := range dirs {
		base := filepath.Join(dir, n.Path())
		if n.Tag != "" {
			places = append(places, filepath.Join(base, n.Tag+".tar"), filepath.Join(base, n.Tag))
		}
		places = append(places, base)
	}
	for _, place := range places {
		i, err := open(place, n)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("image %s in %s: %w", n, place, err)
		}
		return i, nil
	}
	return nil, fmt.Errorf("image %s: %w in %s: looked for %s", n, ErrNotFound, strings.Join(dirs, ", "),
		strings.Join(places, ", "))
}

// open opens what is at a path, or returns ErrNotFound.
func open(place string, n Name) (*Image, error) {
	info, err := os.Stat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case err != nil:
		return nil, err
	case info.Mode().IsRegular():
		return openArchive(place, n)
	case !info.IsDir():
		return nil, errors.New("it is neither a folder nor a file")
	}
	if _, err := os.Stat(filepath.Join(place, "index.json")); errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	return read(folder(place), n)
}

// blobs is where the parts of an image lie.
type blobs interface {
	io.Closer
	// Open opens a part by its path in a layout or archive. It fails with fs.ErrNotExist if there is none.
	Open(name string) (io.ReadCloser, error)
}

// folder is an OCI layout that is a folder.
type folder string

func (f folder) Close() error { return nil }

func (f folder) Open(name string) (io.ReadCloser, error) {
	in, err := bounded.Open(filepath.Join(string(f), name))
	if err != nil {
		return nil, err
	}
	return in, nil
}

// archive is a tar archive whose members were noted down.
type archive struct {
	file    *os.File
	members map[string]member
}

type member struct {
	at, size int64
	link     string // the member that this one is a link to
}

func (a *archive) Close() error { return a.file.Close() }

func (a *archive) Open(name string) (io.ReadCloser, error) {
	for range maxDepth {
		m, ok := a.members[path.Clean(name)]
		if !ok {
			break
		}
		if m.link == "" {
			return io.NopCloser(io.NewSectionReader(a.file, m.at, m.size)), nil
		}
		name = m.link
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func openArchive(file string, n Name) (*Image, error) {
	f, err := bounded.Open(file)
	if err != nil {
		return nil, err
	}
	a := &archive{file: f}
	if a.members, err = index(f); err == nil {
		var i *Image
		if i, err = read(a, n); err == nil {
			return i, nil
		}
	}
	f.Close()
	return nil, err
}

// index notes down where the members of an archive are.
func index(f io.ReadSeeker) (map[string]member, error) {
	members := make(map[string]member)
	in := tar.NewReader(f)
	for count := 0; ; count++ {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return members, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it is not a tar archive that can be read: %w", err)
		}
		if count >= maxItems {
			return nil, fmt.Errorf("it has more than %d members", maxItems)
		}
		name := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			at, err := f.Seek(0, io.SeekCurrent) // the reader reads no further than the header
			if err != nil {
				return nil, err
			}
			members[name] = member{at: at, size: h.Size}
		case tar.TypeSymlink:
			members[name] = member{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			members[name] = member{link: path.Clean(h.Linkname)}
		}
	}
}

// read reads an image: of an OCI layout, or else of an archive of docker's.
func read(b blobs, n Name) (i *Image, err error) {
	text, err := readAll(b, "index.json", "")
	if err == nil {
		var m manifest
		if m, err = parseManifest(text); err != nil {
			return nil, err
		}
		return readIndex(b, m, n, 1)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if text, err = readAll(b, "manifest.json", ""); err != nil {
		return nil, fmt.Errorf("it has neither index.json nor manifest.json: %w", err)
	}
	return readSaved(b, text, n)
}

// readAll reads a small part, which must have the digest, if one is given.
func readAll(b blobs, name, digest string) ([]byte, error) {
	in, err := b.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := bounded.ReadAll(in, MaxText)
	if err == nil && digest != "" {
		err = CheckDigest(text, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("%.200s: %w", name, err)
	}
	return text, nil
}

// blobsDir is where blobs are in a layout.
const blobsDir = "blobs/sha256/"

// blob returns the path of a blob in a layout.
func blob(d Descriptor) (name, digest string, err error) {
	digest, err = parseDigest(d.Digest)
	return blobsDir + digest, digest, err
}

// readIndex reads the image of an index, or of an index in it.
func readIndex(b blobs, m manifest, n Name, depth int) (*Image, error) {
	d, err := choose(m.Manifests, n)
	if err != nil {
		return nil, err
	}
	name, digest, err := blob(d)
	if err != nil {
		return nil, err
	}
	text, err := readAll(b, name, digest)
	if err != nil {
		return nil, err
	}
	if m, err = parseManifest(text); err != nil {
		return nil, err
	}
	if len(m.Manifests) == 0 {
		return readManifest(b, m)
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("more than %d indices lead to each other", maxDepth)
	}
	n.Digest = "" // it was that of the index
	for i := range m.Manifests {
		delete(m.Manifests[i].Annotations, refName)
	}
	return readIndex(b, m, n, depth+1)
}

func readManifest(b blobs, m manifest) (*Image, error) {
	name, digest, err := blob(m.Config)
	if err != nil {
		return nil, err
	}
	text, err := readAll(b, name, digest)
	if err != nil {
		return nil, err
	}
	i, err := m.image(text, func(l *Layer, _ Descriptor) {
		name := blobsDir + l.Digest
		l.Open = func() (io.ReadCloser, error) { return b.Open(name) }
	})
	if err != nil {
		return nil, err
	}
	i.closer = b
	return i, nil
}

// readSaved reads an image of an archive that "docker save" has written.
func readSaved(b blobs, text []byte, n Name) (*Image, error) {
	all, err := parseSaved(text)
	if err != nil {
		return nil, err
	}
	if n.Digest != "" {
		return nil, errors.New("archives of docker's have no digest of a manifest: use the name without a digest, or an OCI layout")
	}
	plain := Name{Repository: n.Repository, Tag: n.Tag}
	at := slices.IndexFunc(all, func(s saved) bool {
		return slices.Contains(s.RepoTags, n.String()) || slices.Contains(s.RepoTags, plain.String())
	})
	if at < 0 && len(all) == 1 {
		at = 0
	}
	if at < 0 {
		return nil, fmt.Errorf("none of its %d images has the tag %s", len(all), n)
	}
	s := all[at]
	text, err = readAll(b, s.Config, "")
	if err != nil {
		return nil, err
	}
	c, ids, err := parseConfig(text, len(s.Layers))
	if err != nil {
		return nil, err
	}
	i := &Image{Config: c, closer: b}
	for at, l := range s.Layers {
		i.Layers = append(i.Layers, Layer{DiffID: ids[at], Open: func() (io.ReadCloser, error) { return b.Open(l) }})
	}
	return i, nil
}
