package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"heddle/internal/bounded"
	"heddle/nm/logs/ifile"
	"heddle/nm/logs/tfile"
	"heddle/yarn/records"
)

// Archive reads aggregated logs of Heddle and Hadoop.
type Archive struct {
	FS    FS // with the rights of the reading user
	Place Place
	// Older also searches the place where Hadoop put logs before 3.3
	// (yarn.nodemanager.remote-app-log-dir-include-older).
	Older bool
}

// NodeFile has the logs that one node aggregated at one time.
type NodeFile struct {
	Path    string
	Name    string // host_port, followed by the time if logs roll
	Size    int64
	ModTime int64 // ms since 1970

	good int64 // number of valid bytes while the node appends to the file; otherwise negative
}

// valid returns how many bytes of a file of some size are valid.
func (f *NodeFile) valid(size int64) int64 {
	if f.good < 0 {
		return size
	}
	return min(size, f.good)
}

// ErrNoLogs says that an application has no aggregated logs. It may be running, or its logs were removed.
var ErrNoLogs = errors.New("no aggregated logs")

// Files returns the complete files of an application, sorted by name.
func (a Archive) Files(ctx context.Context, app records.ApplicationID, owner string) ([]NodeFile, error) {
	dirs := []string{a.Place.AppDir(app, owner)}
	if a.Older {
		dirs = append(dirs, a.Place.OlderAppDir(app, owner))
	}
	var files []NodeFile
	for _, dir := range dirs {
		infos, err := a.FS.List(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("application %s: %w", app, err)
		}
		good := a.checksums(ctx, dir, infos)
		for _, i := range infos {
			if i.Mode.IsDir() || strings.HasSuffix(i.Name, tmpName) || strings.HasSuffix(i.Name, ifile.ChecksumSuffix) {
				continue
			}
			f := NodeFile{Path: dir + "/" + i.Name, Name: i.Name, Size: i.Size, ModTime: i.ModTime, good: -1}
			if g, ok := good[i.Name]; ok {
				f.good = g
			}
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("application %s: %w in %s", app, ErrNoLogs, strings.Join(dirs, ", "))
	}
	slices.SortFunc(files, func(a, b NodeFile) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// checksums returns how many bytes are valid of the files to which nodes append. It omits those that can't be read.
func (a Archive) checksums(ctx context.Context, dir string, infos []FileInfo) map[string]int64 {
	good := map[string]int64{}
	for _, i := range infos {
		const enough = 64 << 10
		if !strings.HasSuffix(i.Name, ifile.ChecksumSuffix) || i.Size > enough {
			continue
		}
		f, err := a.FS.Open(ctx, dir+"/"+i.Name)
		if err != nil {
			continue
		}
		b, err := bounded.ReadAll(io.NewSectionReader(f, 0, f.Size()), enough)
		f.Close()
		if err != nil {
			continue
		}
		if name, n, err := ifile.ParseChecksum(b); err == nil {
			good[name] = n
		}
	}
	return good
}

// AggregatedLog is a log of a container in a node's file.
type AggregatedLog struct {
	File      NodeFile
	Container string
	Name      string
	Length    int64 // bytes
}

// Each calls fn for every log in a file of either format. It skips the rest of content that fn doesn't read.
func (a Archive) Each(ctx context.Context, file NodeFile, fn func(log AggregatedLog, content io.Reader) error) error {
	f, err := a.FS.Open(ctx, file.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len(tfile.Magic))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	each := eachIndexed
	if string(head) == tfile.Magic {
		each = eachRecord
	}
	if err := each(f, file, fn); err != nil {
		return fmt.Errorf("%s: %w", file.Path, err)
	}
	return nil
}

// eachRecord iterates over a TFile.
func eachRecord(f File, file NodeFile, fn func(AggregatedLog, io.Reader) error) error {
	r, err := NewFileReader(f, f.Size())
	if err != nil {
		return err
	}
	for r.Next() {
		for {
			name, length, ok := r.NextLog()
			if !ok {
				break
			}
			if err := fn(AggregatedLog{File: file, Container: r.Container(), Name: name, Length: length}, r); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

// eachIndexed iterates over an indexed file.
func eachIndexed(f File, file NodeFile, fn func(AggregatedLog, io.Reader) error) error {
	if file.good == 0 {
		return nil // the first upload is under way
	}
	r, err := ifile.NewReader(f, file.valid(f.Size()))
	if err != nil {
		return err
	}
	for _, l := range r.Logs {
		content, err := r.Open(l)
		if err != nil {
			return err
		}
		if err := fn(AggregatedLog{File: file, Container: l.Container, Name: l.Name, Length: l.Size}, content); err != nil {
			return err
		}
	}
	return nil
}

// NodeLogs has a container's logs in a node's file.
type NodeLogs struct {
	File NodeFile
	Logs []AggregatedLog
}

// OfContainer lists a container's logs that a node has aggregated, file by file. It returns ErrNoLogs if its
// application has no aggregated logs.
func (a Archive) OfContainer(ctx context.Context, id records.ContainerID, owner string, node records.NodeID) ([]NodeLogs, error) {
	files, err := a.Files(ctx, id.Attempt.App, owner)
	if err != nil {
		return nil, err
	}
	var all []NodeLogs
	name, container := nodeName(node), id.String()
	for _, f := range files {
		if f.Name != name && !strings.HasPrefix(f.Name, name+"_") {
			continue
		}
		found := NodeLogs{File: f}
		err := a.Each(ctx, f, func(log AggregatedLog, _ io.Reader) error {
			if log.Container == container {
				found.Logs = append(found.Logs, log)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(found.Logs) > 0 {
			all = append(all, found)
		}
	}
	return all, nil
}

// WriteText writes an aggregated log as `yarn logs` does: size bytes from the beginning, or from the end if size is
// negative.
func (l AggregatedLog) WriteText(w io.Writer, content io.Reader, size int64) error {
	if err := writeHead(w, l.Container, l.File.Name, "AGGREGATED", l.Name, l.File.ModTime, l.Length); err != nil {
		return err
	}
	offset, count := Size(l.Length, size)
	if err := Skip(content, offset); err != nil {
		return err
	}
	if _, err := io.CopyN(w, content, count); err != nil {
		return noEOF(err)
	}
	end := "End of LogType:" + l.Name
	_, err := io.WriteString(w, "\n"+end+"\n"+stars(end)+"\n\n")
	return err
}

// Rights returns who submitted the application of a file, and who may view it by its access control list.
func (a Archive) Rights(ctx context.Context, file NodeFile) (owner, viewers string, err error) {
	f, err := a.FS.Open(ctx, file.Path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	head := make([]byte, len(tfile.Magic))
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", "", err
	}
	var acls map[string]string
	if string(head) == tfile.Magic {
		var r *FileReader
		if r, err = NewFileReader(f, f.Size()); err == nil {
			if owner, err = r.Owner(); err == nil {
				acls, err = r.ACLs()
			}
		}
	} else {
		var r *ifile.Reader
		if r, err = ifile.NewReader(f, file.valid(f.Size())); err == nil {
			owner, acls = r.Owner, r.ACLs
		}
	}
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", file.Path, err)
	}
	return owner, acls[ViewApp], nil
}
