package logs

import (
	"fmt"
	"io"
	"strings"

	"heddle/nm/logs/ifile"
	"heddle/yarn/records"
)

// Format is a format of files with aggregated logs.
type Format uint8

// Hadoop's formats.
const (
	TFile   Format = iota // all logs of a container in a record
	Indexed               // separate logs with an index
)

const controllers = "org.apache.hadoop.yarn.logaggregation.filecontroller."

// ParseFormat returns the format for a name in yarn.log-aggregation.file-formats. class is
// yarn.log-aggregation.file-controller.<name>.class; if it is "", the names are Hadoop's own.
func ParseFormat(name, class string) (Format, error) {
	switch class {
	case controllers + "tfile.LogAggregationTFileController":
		return TFile, nil
	case controllers + "ifile.LogAggregationIndexedFileController":
		return Indexed, nil
	case "":
		switch name {
		case "", "TFile":
			return TFile, nil
		case "IFile":
			return Indexed, nil
		}
	}
	return TFile, fmt.Errorf("yarn.log-aggregation.file-formats: %q of class %q is not supported: Heddle has TFile and IFile", name, class)
}

// archiveWriter writes the logs of a node.
type archiveWriter interface {
	begin(id records.ContainerID) error
	add(f logFile, content io.Reader) error
	end() error
	close() error
}

func (a *Aggregator) newWriter(out io.Writer, app *application, name string, at int64) (archiveWriter, error) {
	if a.cfg.Format == TFile {
		w, err := NewFileWriter(out, a.cfg.Compression, app.User, app.ACLs)
		return tfileWriter{w}, err
	}
	w, err := ifile.NewWriter(out, ifile.Info{
		App: app.App.String(), Owner: app.User, ACLs: app.ACLs, Node: a.cfg.Node.String(),
		Name:     strings.TrimSuffix(name, tmpName),
		Uploaded: at, Compression: a.cfg.Compression,
	})
	return &indexedWriter{w: w}, err
}

type tfileWriter struct{ w *FileWriter }

func (t tfileWriter) begin(id records.ContainerID) error     { return t.w.Begin(id.String()) }
func (t tfileWriter) add(f logFile, content io.Reader) error { return t.w.Log(f.name, f.size, content) }
func (t tfileWriter) end() error                             { return t.w.End() }
func (t tfileWriter) close() error                           { return t.w.Close() }

type indexedWriter struct {
	w  *ifile.Writer
	id string
}

func (i *indexedWriter) begin(id records.ContainerID) error {
	i.id = id.String()
	return nil
}

func (i *indexedWriter) add(f logFile, content io.Reader) error {
	return i.w.Log(i.id, f.name, f.size, f.modTime, content)
}

func (i *indexedWriter) end() error   { return nil }
func (i *indexedWriter) close() error { return i.w.Close() }
