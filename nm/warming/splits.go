package warming

import (
	"bytes"
	"errors"
	"fmt"

	"heddle/yarn/writable"
)

// Bounds of what is taken from files that users have written.
const (
	MaxSplits    = 20_000   // of a job; the maps of further ones start last, and are not warmed
	maxLocations = 16       // of a split
	maxName      = 4096     // bytes of a file's or host's name
	maxNames     = 1 << 20  // bytes of all different names of a job: they go to the ResourceManager with a heartbeat
	maxListSize  = 32 << 20 // bytes of job.split or job.splitmetainfo
)

// Formats of the two files (Hadoop: JobSplit, JobSplitWriter).
var (
	listHeader  = []byte("META-SPL")
	splitHeader = []byte("SPL")
)

const formatVersion = 1

// fileSplits are the classes whose splits are a range of a file, written as path, start and length.
var fileSplits = map[string]bool{
	"org.apache.hadoop.mapreduce.lib.input.FileSplit": true,
	"org.apache.hadoop.mapred.FileSplit":              true,
}

// Split is the input of a map: a range of a file, and the hosts that have it.
type Split struct {
	File           string
	Offset, Length int64
	Hosts          []string
}

// errFormat says that a file is not what MapReduce writes.
var errFormat = errors.New("not in the format of MapReduce's splits")

// Splits reads the list of a job's splits from the contents of job.splitmetainfo and job.split, in the order of the maps. A split that
// isn't a range of a file has no File: there is nothing to warm for its map.
func Splits(list, splits []byte) ([]Split, error) {
	if !bytes.HasPrefix(splits, splitHeader) {
		return nil, fmt.Errorf("job.split: %w: it doesn't begin with %q", errFormat, splitHeader)
	}
	rest, found := bytes.CutPrefix(list, listHeader)
	if !found {
		return nil, fmt.Errorf("job.splitmetainfo: %w: it doesn't begin with %q", errFormat, listHeader)
	}
	r := writable.NewReader(rest)
	version, err := r.VInt()
	if err != nil {
		return nil, fmt.Errorf("job.splitmetainfo: %w", err)
	}
	if version != formatVersion {
		return nil, fmt.Errorf("job.splitmetainfo: %w: version %d", errFormat, version)
	}
	n, err := r.VInt()
	if err != nil {
		return nil, fmt.Errorf("job.splitmetainfo: %w", err)
	}
	if n < 0 {
		return nil, fmt.Errorf("job.splitmetainfo: %w: %d splits", errFormat, n)
	}
	var out []Split
	known := names{}
	for i := range min(int(n), MaxSplits) {
		s, err := readSplit(r, splits)
		if err != nil {
			return nil, fmt.Errorf("split %d: %w", i, err)
		}
		if !known.keep(&s) {
			break
		}
		out = append(out, s)
	}
	return out, nil
}

// names are the different names of a job, which are kept once.
type names struct {
	all   map[string]string
	bytes int
}

// keep has a split refer to the names that are kept. It returns false if there are too many of them.
func (n *names) keep(s *Split) bool {
	s.File = n.one(s.File)
	for i, h := range s.Hosts {
		s.Hosts[i] = n.one(h)
	}
	return n.bytes <= maxNames
}

func (n *names) one(name string) string {
	if known, ok := n.all[name]; ok {
		return known
	}
	if n.all == nil {
		n.all = map[string]string{}
	}
	n.all[name] = name
	n.bytes += len(name)
	return name
}

// readSplit reads an entry of job.splitmetainfo, and the split in job.split that it refers to.
func readSplit(r *writable.Reader, splits []byte) (Split, error) {
	var s Split
	hosts, err := r.VInt()
	if err != nil {
		return s, err
	}
	if hosts < 0 {
		return s, fmt.Errorf("%w: %d locations", errFormat, hosts)
	}
	for i := range int(hosts) {
		host, err := r.Text()
		if err != nil {
			return s, err
		}
		if i < maxLocations && len(host) <= maxName {
			s.Hosts = append(s.Hosts, host)
		}
	}
	at, err := r.VLong()
	if err != nil {
		return s, err
	}
	if _, err = r.VLong(); err != nil { // the length of the input, which the split has as well
		return s, err
	}
	if at < int64(len(splitHeader)) || at > int64(len(splits)) {
		return s, fmt.Errorf("%w: it is at %d of job.split's %d bytes", errFormat, at, len(splits))
	}
	return s, s.readRange(writable.NewReader(splits[at:]))
}

// readRange reads which range of which file a split is.
func (s *Split) readRange(r *writable.Reader) error {
	class, err := r.Text()
	if err != nil || !fileSplits[class] {
		return err
	}
	file, err := r.Text()
	if err != nil {
		return err
	}
	offset, err := r.Int64()
	if err != nil {
		return err
	}
	length, err := r.Int64()
	if err != nil {
		return err
	}
	if len(file) > maxName || offset < 0 || length < 0 || offset+length < 0 {
		return fmt.Errorf("%w: %d bytes from %d on of %.100q", errFormat, length, offset, file)
	}
	s.File, s.Offset, s.Length = file, offset, length
	return nil
}
