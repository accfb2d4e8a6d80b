package sources

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path"
	"strconv"
	"strings"

	"heddle/nm/localizer"
)

const dir = fs.ModeDir

// Archives reads files in Hadoop archives: har://SCHEME-HOST:PORT/FOLDER/NAME.har/FILE, or har:///FOLDER/NAME.har/FILE in the default file system.
// An archive is a folder with an index and files that hold the contents of others, one after the other.
type Archives struct{ Below localizer.Source }

// maxIndex bounds an index, bytes.
const maxIndex = 256 << 20

// entry is a line of an index.
type entry struct {
	dir      bool
	part     string // the file that holds the contents
	start    int64
	size     int64
	modified int64
	children []string
}

// split returns the archive of a location, and the path in it.
func split(at localizer.Location) (archive localizer.Location, inside string, err error) {
	clean := path.Clean("/" + at.Path)
	i := strings.Index(clean+"/", ".har/")
	if i < 0 {
		return archive, "", fmt.Errorf("%s: no folder of the path ends in .har", at)
	}
	end := i + len(".har")
	archive = localizer.Location{Path: clean[:end], Port: at.Port}
	if at.Host != "" {
		scheme, host, ok := strings.Cut(at.Host, "-")
		if !ok {
			return archive, "", fmt.Errorf("%s: the host must be SCHEME-HOST", at)
		}
		archive.Scheme, archive.Host = scheme, host
	}
	return archive, path.Clean("/" + clean[min(end, len(clean)):]), nil
}

// find reads the index of a location's archive.
func (a *Archives) find(ctx context.Context, by localizer.Reader, at localizer.Location) (archive localizer.Location, found entry, all map[string]entry, err error) {
	archive, inside, err := split(at)
	if err != nil {
		return archive, found, nil, err
	}
	file := archive
	file.Path = path.Join(archive.Path, "_index")
	r, err := a.Below.Open(ctx, by, file)
	if err != nil {
		return archive, found, nil, err
	}
	defer r.Close()
	all, err = parseIndex(io.LimitReader(r, maxIndex))
	if err != nil {
		return archive, found, nil, fmt.Errorf("%s: %w", file, err)
	}
	found, ok := all[inside]
	if !ok {
		return archive, found, nil, missing(at)
	}
	return archive, found, all, nil
}

// parseIndex reads an index of version 3: the escaped path, dir or file, and of a file the name of the part, start and size; of a folder its
// time and rights, two zeros, and its entries (HarFileSystem.HarStatus).
func parseIndex(r io.Reader) (map[string]entry, error) {
	all := map[string]entry{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			return nil, fmt.Errorf("line %d has %d words", n, len(fields))
		}
		name, err := unescape(fields[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		e := entry{dir: fields[1] == "dir", part: fields[2]}
		about := fields[2]
		if e.dir {
			for _, child := range fields[5:] {
				if child, err = unescape(child); err != nil {
					return nil, fmt.Errorf("line %d: %w", n, err)
				}
				e.children = append(e.children, child)
			}
		} else {
			var bad error
			e.start, err = strconv.ParseInt(fields[3], 10, 64)
			e.size, bad = strconv.ParseInt(fields[4], 10, 64)
			if err = errors.Join(err, bad); err != nil || e.start < 0 || e.size < 0 {
				return nil, fmt.Errorf("line %d: a start of %q and a size of %q", n, fields[3], fields[4])
			}
			if e.part != path.Base(e.part) || e.part == "." || e.part == ".." || e.part == "/" {
				return nil, fmt.Errorf("line %d: %q is not the name of a part", n, e.part)
			}
			about = ""
			if len(fields) > 5 {
				about = fields[5]
			}
		}
		e.modified = modified(about)
		all[path.Clean("/"+name)] = e
	}
	return all, lines.Err()
}

// modified reads the time in time+mode+owner+group, which older archives lack. Rights are those of the archive, as in Hadoop, because
// its author could have written any.
func modified(text string) int64 {
	text, err := unescape(text)
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(text, " ")
	t, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0
	}
	return t
}

// unescape is Java's URLDecoder.
func unescape(s string) (string, error) { return url.QueryUnescape(s) }

// info describes an entry; mode is that of the archive's index.
func (e entry) info(name string, mode fs.FileMode) localizer.Info {
	i := localizer.Info{Name: name, Size: e.size, ModTime: e.modified, Mode: mode.Perm()}
	if e.dir {
		i.Mode |= dir
	}
	return i
}

// mode returns the rights of an archive: those of its index.
func (a *Archives) mode(ctx context.Context, by localizer.Reader, archive localizer.Location) (fs.FileMode, error) {
	archive.Path = path.Join(archive.Path, "_index")
	info, err := a.Below.Stat(ctx, by, archive)
	return info.Mode, err
}

// Stat implements localizer.Source.
func (a *Archives) Stat(ctx context.Context, by localizer.Reader, at localizer.Location) (localizer.Info, error) {
	if _, _, err := split(at); err != nil { // a folder above the archive
		above := localizer.Location{Path: path.Clean("/" + at.Path), Port: at.Port}
		if scheme, host, ok := strings.Cut(at.Host, "-"); ok {
			above.Scheme, above.Host = scheme, host
		}
		return a.Below.Stat(ctx, by, above)
	}
	archive, found, _, err := a.find(ctx, by, at)
	if err != nil {
		return localizer.Info{}, err
	}
	mode, err := a.mode(ctx, by, archive)
	return found.info(at.Name(), mode), err
}

// List implements localizer.Source.
func (a *Archives) List(ctx context.Context, by localizer.Reader, at localizer.Location) ([]localizer.Info, error) {
	archive, found, all, err := a.find(ctx, by, at)
	if err != nil {
		return nil, err
	}
	_, inside, err := split(at)
	if err != nil {
		return nil, err
	}
	mode, err := a.mode(ctx, by, archive)
	if err != nil {
		return nil, err
	}
	var out []localizer.Info
	for _, child := range found.children {
		if e, ok := all[path.Join(inside, child)]; ok {
			out = append(out, e.info(path.Base(child), mode))
		}
	}
	return out, nil
}

// Open implements localizer.Source.
func (a *Archives) Open(ctx context.Context, by localizer.Reader, at localizer.Location) (io.ReadCloser, error) {
	archive, found, _, err := a.find(ctx, by, at)
	if err != nil {
		return nil, err
	}
	if found.dir {
		return nil, fmt.Errorf("%s is a folder", at)
	}
	archive.Path = path.Join(archive.Path, found.part)
	r, err := a.Below.Open(ctx, by, archive)
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, r, found.start); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", archive, err), r.Close())
	}
	return part{io.LimitReader(r, found.size), r}, nil
}

// part is a file in a part of an archive.
type part struct {
	io.Reader
	io.Closer
}
