// Package stock reads the labels of nodes that YARN's ResourceManager has stored (Hadoop: FileSystemNodeLabelsStore): a file with all of them as
// they were, and a log of the changes since.
package stock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"heddle/internal/bounded"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/nodelabels"
	"heddle/yarn/pb"
)

// The files of a folder, and the most bytes that one may have.
const (
	mirrorFile = "nodelabel.mirror"
	logFile    = "nodelabel.editlog"
	maxSize    = 64 << 20
)

// Kinds of changes in the log.
const (
	opAdd = iota
	opReplace
	opRemove
)

// Read reads a folder: a path, or a URI of a local file system. It returns nil if nothing is stored there.
func Read(root string) (*ledgerpb.NodeLabelsChanged, error) {
	dir, local := strings.CutPrefix(root, "file:")
	if local {
		dir = "/" + strings.TrimLeft(dir, "/")
	}
	if !filepath.IsAbs(dir) {
		return nil, nil
	}
	mirror, err := contents(filepath.Join(dir, mirrorFile))
	if err != nil {
		return nil, err
	}
	log, err := contents(filepath.Join(dir, logFile))
	if err != nil {
		return nil, err
	}
	if len(mirror)+len(log) == 0 {
		return nil, nil
	}
	c, err := Parse(mirror, log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return c, nil
}

// contents returns what a file has; nothing if there is none.
func contents(path string) ([]byte, error) {
	data, err := bounded.ReadFile(path, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Parse reads the contents of both files.
func Parse(mirror, log []byte) (*ledgerpb.NodeLabelsChanged, error) {
	var all nodelabels.Labels
	if len(mirror) > 0 {
		r := bytes.NewReader(mirror)
		if err := errors.Join(apply(&all, r, opAdd), apply(&all, r, opReplace)); err != nil {
			return nil, fmt.Errorf("%s: %w", mirrorFile, err)
		}
	}
	for r := bytes.NewReader(log); r.Len() > 0; {
		at := len(log) - r.Len()
		var op int32
		err := binary.Read(r, binary.BigEndian, &op)
		if err == nil {
			err = apply(&all, r, op)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the change at byte %d: %w", logFile, at, err)
		}
	}
	record := all.Record()
	return &ledgerpb.NodeLabelsChanged{Added: record.GetLabels(), Nodes: record.GetNodes()}, nil
}

// apply reads a change, and makes it.
func apply(all *nodelabels.Labels, r *bytes.Reader, op int32) error {
	c := &ledgerpb.NodeLabelsChanged{}
	switch op {
	case opAdd:
		m := &pb.AddToClusterNodeLabelsRequest{}
		if err := read(r, m); err != nil {
			return err
		}
		for _, l := range m.GetNodeLabels() {
			c.Added = append(c.Added, &ledgerpb.NodeLabel{Name: l.GetName(), Exclusive: l.GetIsExclusive()})
		}
	case opReplace:
		m := &pb.ReplaceLabelsOnNodeRequest{}
		if err := read(r, m); err != nil {
			return err
		}
		for _, n := range m.GetNodeToLabels() {
			if len(n.GetNodeLabels()) > 1 {
				return fmt.Errorf("%s has %d labels", n.GetNodeId().GetHost(), len(n.GetNodeLabels()))
			}
			c.Nodes = append(c.Nodes, &ledgerpb.LabelledNode{
				Node: &ledgerpb.NodeRef{Host: n.GetNodeId().GetHost(), Port: n.GetNodeId().GetPort()}, Label: strings.Join(n.GetNodeLabels(), ""),
			})
		}
	case opRemove:
		m := &pb.RemoveFromClusterNodeLabelsRequest{}
		if err := read(r, m); err != nil {
			return err
		}
		c.Removed = m.GetNodeLabels()
	default:
		return fmt.Errorf("there is no change of kind %d", op)
	}
	return all.Apply(c)
}

func read(r *bytes.Reader, m proto.Message) error {
	return protodelim.UnmarshalOptions{MaxSize: maxSize}.UnmarshalFrom(r, m)
}
