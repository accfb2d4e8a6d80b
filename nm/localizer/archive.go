package localizer

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"heddle/internal/bounded"
)

// format says how a resource is unpacked.
type format int

const (
	plain  format = iota // not at all
	zipped               // .zip and .jar
	tarred               // .tar, .tar.gz and .tgz
)

// formatOf decides by the name, as FSDownload does. An archive with another suffix is copied like a file.
func formatOf(t Type, name string) format {
	if t == File {
		return plain
	}
	name = strings.ToLower(name)
	for _, s := range []struct {
		suffix string
		format format
	}{{".jar", zipped}, {".zip", zipped}, {".tar.gz", tarred}, {".tgz", tarred}, {".tar", tarred}} {
		if strings.HasSuffix(name, s.suffix) {
			return s.format
		}
	}
	return plain
}

// keepsJar reports whether the archive itself stays beside its unpacked entries.
func keepsJar(t Type, name string) bool {
	return t == Pattern && strings.HasSuffix(strings.ToLower(name), ".jar")
}

// compilePattern compiles a Java regular expression that must match a whole name. An empty one matches everything.
// Matching takes linear time, so look-around and back-references are refused.
func compilePattern(pattern string) (matcher, error) {
	if pattern == "" {
		return nil, nil
	}
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return re.MatchString, nil
}

// matcher chooses the entries of an archive; nil chooses all.
type matcher func(name string) bool

// untar unpacks a tar file, gzipped or not, whichever its first bytes say.
func untar(t *tree, src io.Reader) error {
	in := bufio.NewReaderSize(src, 1<<16)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		gz, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("gzip: %w", err)
		}
		defer gz.Close()
		entries := bufio.NewReader(gz)
		if err := untarEntries(t, entries); err != nil {
			return err
		}
		// After the last entry there is padding of at most a block. A broken checksum shows after it. Garbage
		// after the gzip stream doesn't matter.
		const maxBlock = 1 << 20
		if _, err := io.CopyN(io.Discard, entries, maxBlock); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, gzip.ErrHeader) {
			return fmt.Errorf("gzip: %w", err)
		}
		return nil
	}
	return untarEntries(t, in)
}

// errNoTar refuses a tar file without a single block, as GNU tar does, which YARN unpacks with: the writer of the
// file has failed. An archive without entries has blocks of zeros.
var errNoTar = errors.New("tar: the file is empty, which is not an archive; it was probably not written to its end")

func untarEntries(t *tree, src *bufio.Reader) error {
	if _, err := src.Peek(1); errors.Is(err, io.EOF) {
		return errNoTar
	}
	in := tar.NewReader(src)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("tar: %w", err)
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
			err = t.file(h.Name, h.ModTime, in)
		case tar.TypeDir:
			err = t.dir(h.Name)
		case tar.TypeSymlink:
			err = t.symlink(h.Name, h.Linkname)
		case tar.TypeLink:
			err = t.link(h.Name, h.Linkname)
		case tar.TypeXGlobalHeader, 'V': // comments and the label of the archive
		default:
			err = fmt.Errorf("entry %q is of type %q: only files, directories and links are unpacked", h.Name, h.Typeflag)
		}
		if err != nil {
			return err
		}
	}
}

// maxZipDirectory bounds the directory of a zip file, which is in memory. It has about 100 bytes per entry.
const maxZipDirectory = 64 << 20

// unzip unpacks the entries of a zip file whose whole name matches; a nil pattern matches everything. It makes a
// directory when it unpacks a file in it.
func unzip(t *tree, src io.ReaderAt, size int64, match matcher) error {
	z, err := openZip(src, size, maxZipDirectory)
	if err != nil {
		return fmt.Errorf("zip: %w", err)
	}
	for _, e := range z.File {
		if match != nil && !match(e.Name) {
			continue
		}
		if err := unzipEntry(t, e); err != nil {
			return err
		}
	}
	return nil
}

// openZip reads the directory of a zip file, if that takes no more than limit bytes.
func openZip(src io.ReaderAt, size, limit int64) (*zip.Reader, error) {
	if size == 0 {
		return new(zip.Reader), nil // Hadoop takes an empty file for an archive without entries
	}
	limited := &limitedReaderAt{r: src, left: limit, limit: limit}
	z, err := zip.NewReader(limited, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	limited.left = -1
	return z, nil
}

func unzipEntry(t *tree, e *zip.File) error {
	const encrypted = 1
	mode := e.Mode()
	switch {
	case mode.IsDir():
		return t.dir(e.Name)
	case e.Flags&encrypted != 0:
		return fmt.Errorf("entry %q is encrypted", e.Name)
	case mode&fs.ModeType&^fs.ModeSymlink != 0:
		return fmt.Errorf("entry %q is of type %v: only files, directories and links are unpacked", e.Name, mode.Type())
	}
	content, err := e.Open()
	if err != nil {
		return fmt.Errorf("entry %q: %w", e.Name, err)
	}
	defer content.Close()
	if mode&fs.ModeSymlink == 0 {
		return t.file(e.Name, zipTime(e.Modified), content)
	}
	const maxTarget = 4096 // PATH_MAX
	target, err := bounded.ReadAll(content, maxTarget)
	if err != nil {
		return fmt.Errorf("entry %q: %w", e.Name, err)
	}
	return t.symlink(e.Name, string(target))
}

// zipTime drops times before 1980, which writers without a clock leave.
func zipTime(at time.Time) time.Time {
	if at.Year() < 1980 {
		return time.Time{}
	}
	return at
}

// limitedReaderAt returns at most left bytes; any number if left is negative.
type limitedReaderAt struct {
	r     io.ReaderAt
	left  int64
	limit int64 // initial value of left
}

func (l *limitedReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if l.left >= 0 {
		if l.left < int64(len(p)) {
			return 0, fmt.Errorf("directory larger than %d MB", l.limit>>20)
		}
		l.left -= int64(len(p))
	}
	return l.r.ReadAt(p, off)
}
