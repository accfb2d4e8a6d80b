package layer

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// Size tells how much a layer has unpacked to.
type Size struct {
	Bytes   int64 `json:"bytes"`
	Entries int64 `json:"entries"`
}

// overhead is added to the content of an entry, in bytes: about an inode.
const overhead = 512

// ErrTooLarge says that a layer exceeds its limits.
var ErrTooLarge = errors.New("the layer is too large")

// Unpack unpacks a tar archive, which may be compressed by gzip or zstd, into the empty folder dir. The archive must have the sha256 diffID when
// unpacked, and digest as it comes unless that is "".
func Unpack(ctx context.Context, in io.Reader, dir, diffID, digest string, most Limits) (Size, error) {
	raw := sha256.New()
	in = io.TeeReader(&cancelable{ctx, in}, raw)
	plain, err := decompress(bufio.NewReaderSize(in, 1<<16))
	if err != nil {
		return Size{}, err
	}
	defer plain.Close()
	sum := sha256.New()
	size, err := unpackAll(io.TeeReader(plain, sum), dir, most, false)
	if err != nil {
		return Size{}, err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return Size{}, err
	}
	if err := same("unpacked", sum, diffID); err != nil {
		return Size{}, err
	}
	if digest != "" {
		err = same("as it came", raw, digest)
	}
	return size, err
}

// unpackAll unpacks an archive into the empty folder dir. signs says whether overlayfs's own signs of removed files count.
func unpackAll(in io.Reader, dir string, most Limits, signs bool) (Size, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Size{}, err
	}
	defer root.Close()
	archive := &limited{in: in, left: archiveBytes(most)}
	u := &unpacking{root: root, most: most, ours: map[string]bool{".": true}, signs: signs}
	if err := u.all(tar.NewReader(archive)); err != nil {
		return u.size, err
	}
	// What follows the end of the archive belongs to its digest, and a program waits until it is read.
	_, err = io.Copy(io.Discard, archive)
	return u.size, err
}

// archiveBytes is how long an archive may be whose content keeps to the limits: an entry has a few blocks of headers.
func archiveBytes(most Limits) int64 { return most.Bytes + most.Entries*(16<<10) + 1<<20 }

func same(what string, sum hash.Hash, want string) error {
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return fmt.Errorf("the layer %s has the digest sha256:%s, not sha256:%s: it is damaged, or another", what, got, want)
	}
	return nil
}

// cancelable fails to read once its context has ended.
type cancelable struct {
	ctx context.Context
	in  io.Reader
}

func (c *cancelable) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.in.Read(b)
}

// limited fails to read more than left bytes.
type limited struct {
	in   io.Reader
	left int64
}

func (l *limited) Read(b []byte) (int, error) {
	n, err := l.in.Read(b)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("%w: its archive doesn't end", ErrTooLarge)
	}
	return n, err
}

// maxWindow bounds the memory that a layer makes zstd use, in bytes: what zstd itself takes without being told otherwise.
const maxWindow = 128 << 20

// decompress returns a reader of the archive itself.
func decompress(in *bufio.Reader) (io.ReadCloser, error) {
	magic, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(in)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	case bytes.Equal(magic, []byte("hsqs")):
		return nil, errors.New("the layer is a squashfs file: only images of runc.image-toplevel-dir may have such layers")
	}
	return io.NopCloser(in), nil
}

// unpacking is one layer that is being unpacked.
type unpacking struct {
	root *os.Root
	most Limits
	size Size
	ours map[string]bool // folders that are there

	signs bool // overlayfs's own signs of removed files count
}

func (u *unpacking) all(in *tar.Reader) error {
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the layer's archive: %w", err)
		}
		if err := u.entry(h, in); err != nil {
			return fmt.Errorf("entry %.200q: %w", h.Name, err)
		}
	}
}

// charge counts an entry with its content.
func (u *unpacking) charge(bytes int64) error {
	u.size.Entries++
	u.size.Bytes += overhead
	if bytes < 0 || bytes > u.most.Bytes-u.size.Bytes {
		return fmt.Errorf("%w: it has more than %d bytes", ErrTooLarge, u.most.Bytes)
	}
	u.size.Bytes += bytes
	if u.size.Entries > u.most.Entries {
		return fmt.Errorf("%w: it has more than %d entries", ErrTooLarge, u.most.Entries)
	}
	return nil
}

// maxDepth bounds the folders in a path: each is opened on the way to an entry.
const maxDepth = 128

// local returns the path of an entry relative to the layer's root, "." for that itself.
func local(name string) (string, error) {
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", errors.New("it leads out of its folder")
		}
	}
	if strings.ContainsRune(name, 0) || len(name) > unix.PathMax || strings.Count(name, "/") > maxDepth {
		return "", fmt.Errorf("it is no path of at most %d folders", maxDepth)
	}
	name = strings.TrimLeft(path.Clean(name), "/")
	if name == "" {
		name = "."
	}
	return name, nil
}

// Names by which a layer removes what lower ones have.
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq" // everything in its folder
	internal = ".wh..wh."     // of aufs, without meaning here
)

func (u *unpacking) entry(h *tar.Header, in io.Reader) error {
	name, err := local(h.Name)
	if err != nil {
		return err
	}
	size := int64(0)
	if h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeGNUSparse {
		size = h.Size
	}
	if err := u.charge(size); err != nil {
		return err
	}
	dir, base := path.Split(name)
	if err := u.parents(path.Clean(dir)); err != nil {
		return err
	}
	if strings.HasPrefix(base, whiteout) && !u.signs {
		return u.remove(path.Clean(dir), base)
	}
	return u.write(name, h, in)
}

// parents makes the folders above an entry that the archive doesn't have.
func (u *unpacking) parents(dir string) error {
	if u.ours[dir] {
		return nil
	}
	if err := u.parents(path.Dir(dir)); err != nil {
		return err
	}
	if err := u.charge(0); err != nil {
		return err
	}
	err := u.root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = u.root.Lstat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s above it is no folder", dir)
		}
	}
	if err == nil {
		u.ours[dir] = true
	}
	return err
}

// opaqueAttr is the extended attribute of a folder that hides what lower layers have in it.
const opaqueAttr = "trusted.overlay.opaque"

// hide has a folder hide what lower layers have in it.
func hide(at *os.File) error { return unix.Fsetxattr(int(at.Fd()), opaqueAttr, []byte("y"), 0) }

// remove makes what removes files of lower layers.
func (u *unpacking) remove(dir, base string) error {
	removed := strings.TrimPrefix(base, whiteout)
	if removed == "" || removed == "." || removed == ".." {
		return errors.New("it removes no file")
	}
	at, err := u.root.Open(dir)
	if err != nil {
		return err
	}
	defer at.Close()
	switch {
	case base == opaque:
		return hide(at)
	case strings.HasPrefix(base, internal):
		return nil
	}
	if err := u.clear(path.Join(dir, removed)); err != nil {
		return err
	}
	return unix.Mknodat(int(at.Fd()), removed, unix.S_IFCHR, 0) // overlayfs's own sign
}

// clear removes what an earlier entry has made at a path.
func (u *unpacking) clear(name string) error {
	info, err := u.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return u.root.Remove(name)
	}
	u.ours = map[string]bool{".": true} // looking through them for those below would take long, again and again
	return u.root.RemoveAll(name)
}

func (u *unpacking) write(name string, h *tar.Header, in io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return u.folder(name, h)
	case tar.TypeChar:
		return u.sign(name, h)
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeSymlink, tar.TypeLink:
	default: // devices and pipes: containers get their own
		return nil
	}
	if name == "." {
		return errors.New("the root is no folder")
	}
	if err := u.clear(name); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(name, h, in)
	case tar.TypeSymlink:
		if err := u.root.Symlink(h.Linkname, name); err != nil { // followed only within a container
			return err
		}
		return u.root.Lchown(name, owner(h.Uid), owner(h.Gid))
	}
	target, err := local(h.Linkname)
	if err != nil {
		return fmt.Errorf("its target %.200q: %w", h.Linkname, err)
	}
	return u.root.Link(target, name)
}

func (u *unpacking) folder(name string, h *tar.Header) error {
	if info, err := u.root.Lstat(name); err != nil || !info.IsDir() {
		if err := u.clear(name); err != nil {
			return err
		}
		if err := u.root.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	u.ours[name] = true
	at, err := u.root.Open(name)
	if err != nil {
		return err
	}
	defer at.Close()
	if u.hides(h) {
		if err := hide(at); err != nil {
			return err
		}
	}
	return own(at, h)
}

func (u *unpacking) file(name string, h *tar.Header, in io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(f, in); err != nil {
		return err
	}
	if err := own(f, h); err != nil {
		return err
	}
	// Python takes a compiled module for old if its source has another time.
	at := h.ModTime
	if at.Before(time.Unix(0, 0)) || at.Year() > 2200 {
		at = time.Unix(0, 0)
	}
	return u.root.Chtimes(name, at, at)
}

// owner returns a possible number of a user or group.
func owner(id int) int {
	if id < 0 || id > 1<<31-2 {
		return 65534
	}
	return id
}

// own gives a file its owner and mode. Programs lose setuid and setgid.
func own(f *os.File, h *tar.Header) error {
	if err := f.Chown(owner(h.Uid), owner(h.Gid)); err != nil {
		return err
	}
	mode := fs.FileMode(h.Mode & 0o777)
	if h.Typeflag == tar.TypeDir && h.Mode&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return f.Chmod(mode)
}
