// Package input finds a job's input files, cuts them into splits, and reads the lines of a split. Files that are compressed
// are unpacked and never cut. The user's side calls Find and Cut; map tasks call Feed.
package input

import (
	"cmp"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"heddle/hdfsadapter"
)

// Piece is a part of a file: the lines that begin in it.
type Piece struct {
	Path   string
	Offset int64
	Length int64
}

// Split is the input of a map task.
type Split struct {
	Pieces []Piece
	Length int64
	Hosts  []string // that have it; none if that makes no difference
}

// Error says that an input can't be used.
type Error struct {
	Input string
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("input %s: %v", e.Input, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Find lists the files of a job's inputs, in order. Files and directories whose names begin with _ or . are passed over
// unless they are named (Hadoop: FileInputFormat); so are empty files.
func Find(ctx context.Context, files *hdfsadapter.FS, inputs []string) ([]hdfsadapter.Info, error) {
	var out []hdfsadapter.Info
	for _, in := range inputs {
		matches, err := match(ctx, files, in)
		if err != nil {
			return nil, &Error{in, err}
		}
		for _, m := range matches {
			if out, err = walk(ctx, files, m, out); err != nil {
				return nil, &Error{in, err}
			}
		}
	}
	return out, nil
}

func match(ctx context.Context, files *hdfsadapter.FS, in string) ([]hdfsadapter.Info, error) {
	info, err := files.Stat(ctx, in)
	if err == nil {
		return []hdfsadapter.Info{info}, nil
	}
	if !strings.ContainsAny(in, `*?[{\`) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the path does not exist: %w", err)
		}
		return nil, err
	}
	matches, err := files.Glob(ctx, in)
	if err != nil {
		return nil, err
	}
	matches = slices.DeleteFunc(matches, func(i hdfsadapter.Info) bool { return hidden(i.Name) })
	if len(matches) == 0 {
		return nil, fmt.Errorf("the pattern matches no files: %w", fs.ErrNotExist)
	}
	return matches, nil
}

func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

func walk(ctx context.Context, files *hdfsadapter.FS, at hdfsadapter.Info, out []hdfsadapter.Info) ([]hdfsadapter.Info, error) {
	if !at.IsDir() {
		if at.Size == 0 {
			return out, nil
		}
		return append(out, at), readable(at.Path)
	}
	entries, err := files.List(ctx, at.Path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if hidden(e.Name) {
			continue
		}
		if out, err = walk(ctx, files, e, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Bounds of splits, in bytes.
const (
	localBlock  = 32 << 20 // of files that have no blocks (Hadoop: fs.local.block.size)
	leastPacked = 1 << 20  // that small files are put together to, however little there is
	wantedTasks = 16       // as many splits are made of small files if there is enough in them
	slop        = 1.1      // a last split may be that much longer than the others (Hadoop: SPLIT_SLOP)
)

// maxSplits is how many splits a job's inputs are cut into at most: more would take the memory of all processes that have to know them.
const maxSplits = 1_000_000

var errManySplits = fmt.Errorf("the input would be cut into more than %d splits: set mapreduce.input.fileinputformat.split.maxsize or .minsize higher", maxSplits)

// Cut makes splits of files. Large files give splits of a block each; small ones, and the ends of large ones, are put
// together with others of the same hosts (Hadoop: FileInputFormat, CombineFileInputFormat).
func Cut(ctx context.Context, files *hdfsadapter.FS, inputs []hdfsadapter.Info, least, most int64) ([]Split, error) {
	blocks := make([][]hdfsadapter.Block, len(inputs))
	var g errgroup.Group
	g.SetLimit(16)
	for i, in := range inputs {
		if strings.HasPrefix(in.Path, hdfsadapter.SchemeFile+":") {
			continue // of no host in particular
		}
		g.Go(func() error {
			b, err := files.Blocks(ctx, in.Path, 0, in.Size)
			blocks[i] = b
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var total int64
	for _, in := range inputs {
		total += in.Size
	}
	var splits []Split
	p := packer{bins: map[string]*Split{}, load: map[string]int64{}}
	for i, in := range inputs {
		block := in.BlockSize
		if block <= 0 || strings.HasPrefix(in.Path, hdfsadapter.SchemeFile+":") {
			block = localBlock
		}
		target := max(least, min(most, block), 1)
		p.target = max(least, min(most, block, max(total/wantedTasks, leastPacked)), 1)
		if Codec(in.Path) != nil {
			splits = append(splits, Split{
				Pieces: []Piece{{in.Path, 0, in.Size}}, Length: in.Size, Hosts: hostsAt(blocks[i], 0),
			})
			continue
		}
		if in.Size/target+int64(len(splits)) > maxSplits {
			return nil, errManySplits
		}
		var at int64
		for float64(in.Size-at) > slop*float64(target) {
			splits = append(splits, Split{Pieces: []Piece{{in.Path, at, target}}, Length: target, Hosts: hostsAt(blocks[i], at)})
			at += target
		}
		rest := Piece{in.Path, at, in.Size - at}
		if hosts := hostsAt(blocks[i], at); rest.Length >= p.target {
			splits = append(splits, Split{Pieces: []Piece{rest}, Length: rest.Length, Hosts: hosts})
		} else if full := p.add(rest, hosts); full != nil {
			splits = append(splits, *full)
		}
	}
	if splits = append(splits, p.rest()...); len(splits) > maxSplits {
		return nil, errManySplits
	}
	slices.SortStableFunc(splits, func(a, b Split) int { return cmp.Compare(b.Length, a.Length) })
	return splits, nil
}

func hostsAt(blocks []hdfsadapter.Block, offset int64) []string {
	for _, b := range blocks {
		if offset >= b.Offset && offset < b.Offset+b.Length {
			return b.Hosts
		}
	}
	return nil
}

// packer puts pieces together, as far as possible those of one host.
type packer struct {
	target int64
	bins   map[string]*Split // by host; "" for those of no host in particular
	load   map[string]int64  // bytes given to hosts so far
}

func (p *packer) add(x Piece, hosts []string) *Split {
	host := ""
	for i, h := range hosts {
		if i == 0 || p.load[h] < p.load[host] {
			host = h
		}
	}
	p.load[host] += x.Length
	b := p.bins[host]
	if b == nil {
		b = &Split{}
		if host != "" {
			b.Hosts = []string{host}
		}
		p.bins[host] = b
	}
	b.Pieces = append(b.Pieces, x)
	if b.Length += x.Length; b.Length < p.target {
		return nil
	}
	delete(p.bins, host)
	return b
}

// rest returns what is left: of each host if it's at least half of what was wanted, and the others together.
func (p *packer) rest() []Split {
	var out []Split
	var mixed Split
	for _, host := range slices.Sorted(maps.Keys(p.bins)) {
		b := p.bins[host]
		if host != "" && 2*b.Length >= p.target {
			out = append(out, *b)
			continue
		}
		if mixed.Length > 0 && mixed.Length+b.Length > p.target {
			out = append(out, mixed)
			mixed = Split{}
		}
		if mixed.Length == 0 {
			mixed.Hosts = b.Hosts
		} else {
			mixed.Hosts = nil
		}
		mixed.Pieces = append(mixed.Pieces, b.Pieces...)
		mixed.Length += b.Length
	}
	if mixed.Length > 0 {
		out = append(out, mixed)
	}
	return out
}

// codecs unpack files that are compressed, by the ends of their names (Hadoop: CompressionCodecFactory).
var codecs = map[string]func(io.Reader) (io.Reader, error){
	".gz":      func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	".bz2":     func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil },
	".deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
}

// unreadable are the ends of names of files that are compressed in other ways.
var unreadable = map[string]string{
	".xz": "xz", ".txz": "xz", ".lzma": "lzma", ".zst": "Zstandard", ".zstd": "Zstandard", ".tzst": "Zstandard",
	".lz4":    "LZ4",
	".snappy": "Snappy", ".sz": "Snappy", ".lzo": "LZO", ".lzo_deflate": "LZO", ".br": "Brotli", ".z": "compress",
	".lz":  "lzip",
	".zip": "zip", ".7z": "7-Zip", ".rar": "RAR", ".tgz": "gzip, as an archive,", ".tbz2": "bzip2, as an archive,",
}

// Codec returns what unpacks a file; nil if its name doesn't say that it is compressed. Such files can't be cut.
func Codec(name string) func(io.Reader) (io.Reader, error) {
	return codecs[strings.ToLower(path.Ext(name))]
}

// readable refuses files whose lines can't be read: as they are, a job would take compressed bytes for lines.
func readable(name string) error {
	if with := unreadable[strings.ToLower(path.Ext(name))]; with != "" {
		return fmt.Errorf("%s is compressed with %s which can't be read: unpack it, or compress it with gzip (.gz), bzip2 (.bz2) or zlib (.deflate)",
			name, with)
	}
	return nil
}
