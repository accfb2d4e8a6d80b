// Package runc finds images in the layout of Hadoop's runC runtime, usually on HDFS: manifests/DIGEST, config/DIGEST and layers/DIGEST.sqsh
// below a folder, and files that say which tag has which manifest (ImageTagToManifestPlugin, HdfsManifestToResourcesPlugin).
//
// The layers are squashfs files, whose digests no one knows: only administrators may be able to write there.
package runc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/nm/image/files"
	"heddle/nm/image/oci"
	"heddle/nm/localizer"
)

// Config says where images are. URIs without a scheme are on the default file system.
type Config struct {
	Top       string        // image-toplevel-dir
	Tags      string        // hdfs-hash-file; "": none
	LocalTags string        // local-hash-file, a path on this machine, which goes before Tags; "": none
	Refresh   time.Duration // after which files of tags are looked at again
	Stat      time.Duration // after which an image's layers are looked at again
	Images    int           // that are remembered
	Source    localizer.Source
	Log       *logrus.Entry
}

// Finder finds images. It is safe for concurrent use.
type Finder struct {
	cfg   Config
	files []*tagFile // what the first says goes before the second

	mu     sync.Mutex
	images map[string]remembered
}

type remembered struct {
	image *oci.Image
	at    time.Time
}

// New returns a finder. It reads no file yet.
func New(cfg Config) (*Finder, error) {
	f := &Finder{cfg: cfg, images: map[string]remembered{}}
	if cfg.LocalTags != "" {
		f.files = append(f.files, &tagFile{uri: cfg.LocalTags, at: localizer.Location{Scheme: "file", Path: cfg.LocalTags}})
	}
	if cfg.Tags != "" {
		at, err := files.Locate(cfg.Tags)
		if err != nil {
			return nil, fmt.Errorf("runc.image-tag-to-manifest-plugin.hdfs-hash-file: %w", err)
		}
		f.files = append(f.files, &tagFile{uri: cfg.Tags, at: at})
	}
	if _, err := f.below("layers", ""); err != nil {
		return nil, fmt.Errorf("runc.image-toplevel-dir: %w", err)
	}
	return f, nil
}

// Find returns the image with a tag, or the one whose manifest has that digest; oci.ErrNotFound if there is none. by reads its files.
func (f *Finder) Find(ctx context.Context, tag string, by localizer.Reader) (*oci.Image, error) {
	by.Public = true
	hash, err := f.hash(ctx, tag, by)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	known, ok := f.images[hash]
	f.mu.Unlock()
	if ok && time.Since(known.at) < f.cfg.Stat {
		return known.image, nil
	}
	i, err := f.assemble(ctx, hash, by)
	if err != nil {
		return nil, fmt.Errorf("manifest %s of %s: %w", hash, f.cfg.Top, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for old := range f.images {
		if len(f.images) < max(f.cfg.Images, 1) {
			break
		}
		delete(f.images, old)
	}
	f.images[hash] = remembered{i, time.Now()}
	return i, nil
}

// hash returns the digest of the manifest of a tag.
func (f *Finder) hash(ctx context.Context, tag string, by localizer.Reader) (string, error) {
	var failed error
	for _, file := range f.files {
		tags, err := file.read(ctx, f.cfg, by)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", file.uri, err))
		}
		if hash := tags[tag]; hash != "" {
			return hash, nil
		}
	}
	if digest.MatchString(tag) {
		return tag, nil
	}
	if failed != nil {
		return "", failed
	}
	return "", fmt.Errorf("%w %s in the files of tags of runc.image-tag-to-manifest-plugin", oci.ErrNotFound, tag)
}

// below returns the place of a file below the folder of images.
func (f *Finder) below(dir, name string) (localizer.Location, error) {
	return files.Locate(f.cfg.Top + "/" + dir + "/" + name)
}

func (f *Finder) text(ctx context.Context, by localizer.Reader, dir, digest string) ([]byte, error) {
	at, err := f.below(dir, digest)
	if err != nil {
		return nil, err
	}
	text, err := files.ReadFile(ctx, f.cfg.Source, by, at, oci.MaxText)
	if err == nil {
		err = oci.CheckDigest(text, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return text, nil
}

func (f *Finder) assemble(ctx context.Context, hash string, by localizer.Reader) (*oci.Image, error) {
	top, err := f.text(ctx, by, "manifests", hash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", oci.ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	parts, err := oci.Collect(top, func(d oci.Descriptor) ([]byte, error) { return f.text(ctx, by, "manifests", hashOf(d)) },
		func(d oci.Descriptor) ([]byte, error) { return f.text(ctx, by, "config", hashOf(d)) })
	if err != nil {
		return nil, err
	}
	i, err := parts.Image(func(*oci.Layer, oci.Descriptor) {})
	if err != nil {
		return nil, err
	}
	for n := range i.Layers {
		if err := f.locate(ctx, by, &i.Layers[n]); err != nil {
			return nil, fmt.Errorf("layer %d: %w", n+1, err)
		}
	}
	return i, nil
}

func hashOf(d oci.Descriptor) string { return d.Digest[len("sha256:"):] }

// locate completes a layer with where it is. Another file at its place is another layer.
func (f *Finder) locate(ctx context.Context, by localizer.Reader, l *oci.Layer) error {
	at, err := f.below("layers", l.Digest+".sqsh")
	if err != nil {
		return err
	}
	info, err := f.cfg.Source.Stat(ctx, by, at)
	switch {
	case err != nil:
		return err
	case info.Mode.IsDir() || info.Mode.Perm()&0o002 != 0:
		return fmt.Errorf("%s: it is a folder, or all users may write to it (%v): only administrators may", at, info.Mode)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "squashfs\n%s\n%d\n%d", at, info.Size, info.ModTime))
	l.DiffID = hex.EncodeToString(sum[:])
	l.Digest, l.Size, l.Squashfs = l.DiffID, info.Size, true
	l.Fetch = func(ctx context.Context, to io.Writer, from int64) error {
		if from > 0 {
			return fmt.Errorf("%s: the transfer broke off", at)
		}
		in, err := files.Open(ctx, f.cfg.Source, by, at)
		if err != nil {
			return err
		}
		defer in.Close()
		if n, err := io.Copy(to, io.LimitReader(in, info.Size+1)); err != nil || n != info.Size {
			return errors.Join(err, fmt.Errorf("%s: %d bytes came; it had %d", at, n, info.Size))
		}
		return nil
	}
	return nil
}

// maxTagFile bounds a file of tags, in bytes.
const maxTagFile = 16 << 20

// tagFile is a file of tags, as it was read last.
type tagFile struct {
	uri string
	at  localizer.Location

	mu     sync.Mutex
	looked time.Time
	time   int64
	tags   map[string]string
}

// read returns the tags. If the file can't be read now it returns those it had, and the error if it had none. A file that isn't there has none.
func (t *tagFile) read(ctx context.Context, cfg Config, by localizer.Reader) (map[string]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tags != nil && time.Since(t.looked) < cfg.Refresh {
		return t.tags, nil
	}
	info, err := cfg.Source.Stat(ctx, by, t.at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.tags, t.time, t.looked = map[string]string{}, 0, time.Now()
		return t.tags, nil
	case err == nil && info.Mode.Perm()&0o002 != 0:
		return nil, fmt.Errorf("all users may write to it (%v): only administrators may", info.Mode)
	case err == nil && t.tags != nil && info.ModTime == t.time:
		t.looked = time.Now()
		return t.tags, nil
	}
	var text []byte
	if err == nil {
		text, err = files.ReadFile(ctx, cfg.Source, by, t.at, maxTagFile)
	}
	if err != nil {
		if t.tags != nil {
			cfg.Log.WithError(err).Warnf("%s can't be read: tags of images are what they were", t.uri)
			return t.tags, nil
		}
		return nil, err
	}
	tags, wrong := parseTags(text)
	if wrong > 0 {
		cfg.Log.Warnf("%s: %d lines are left out: want TAG,TAG,…:DIGEST with 64 hexadecimal digits", t.uri, wrong)
	}
	t.tags, t.time, t.looked = tags, info.ModTime, time.Now()
	return t.tags, nil
}
