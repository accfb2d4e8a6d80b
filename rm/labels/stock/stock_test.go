package stock

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/rm/ledger/nodelabels"
)

// testdata is what a stock 3.4.2 has stored: x, y (not exclusive) and z were added, hosts got labels, one of them another one, and a node its own; then one was cleared, and z removed.
func TestWhatYARNHasStored(t *testing.T) {
	dir, err := filepath.Abs("testdata/labels")
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{dir, "file://" + dir, "file:" + dir} {
		c, err := Read(root)
		if err != nil {
			t.Fatal(err)
		}
		var l nodelabels.Labels
		if err := l.Apply(c); err != nil {
			t.Fatal(err)
		}
		if want := map[string]bool{"x": true, "y": false}; !maps.Equal(l.Exclusive, want) {
			t.Errorf("labels %v", l.Exclusive)
		}
		of := map[string]string{}
		for id, name := range l.Nodes {
			of[id.String()] = name
		}
		if want := map[string]string{"127.0.1.31:0": "y"}; !maps.Equal(of, want) {
			t.Errorf("nodes %v", of)
		}
	}
	for _, root := range []string{t.TempDir(), "", "hdfs://nn/labels", "relative"} {
		if c, err := Read(root); c != nil || err != nil {
			t.Errorf("%s: %v, %v", root, c, err)
		}
	}
}

// A snapshot stands before the log, and removal takes labels off nodes.
func TestSnapshotAndRemoval(t *testing.T) {
	mirror := []byte("\x0c\x12\x05\n\x01x\x10\x01\x12\x03\n\x01y" + "\x0d\n\x0b\n\x06\n\x02h1\x10\x00\x12\x01x")
	log := []byte("\x00\x00\x00\x02\x03\n\x01x")
	c, err := Parse(mirror, nil)
	if err != nil || len(c.GetAdded()) != 2 || len(c.GetNodes()) != 1 || c.GetNodes()[0].GetLabel() != "x" {
		t.Fatalf("%v, %v", c, err)
	}
	if c, err = Parse(mirror, log); err != nil || len(c.GetAdded()) != 1 || c.GetAdded()[0].GetName() != "y" || len(c.GetNodes()) != 0 {
		t.Errorf("%v, %v", c, err)
	}
	for what, log := range map[string]string{
		"kind 7": "\x00\x00\x00\x07\x00", "byte 0: unexpected EOF": "\x00\x00", "byte 8: ": string(append(log, 0, 0, 0, 0, 9)), "there is no label q": "\x00\x00\x00\x02\x03\n\x01q",
	} {
		if c, err := Parse(mirror, []byte(log)); c != nil || err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v, %v", what, c, err)
		}
	}
}

// Whatever the files hold, what comes out can be put on record.
func FuzzParse(f *testing.F) {
	for _, name := range []string{mirrorFile, logFile} {
		data, err := os.ReadFile(filepath.Join("testdata/labels", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte{0, 0}, data)
		f.Add(data, []byte{})
	}
	f.Fuzz(func(t *testing.T, mirror, log []byte) {
		c, err := Parse(mirror, log)
		if err != nil {
			return
		}
		var l nodelabels.Labels
		if err := l.Apply(c); err != nil {
			t.Errorf("%v: %v", c, err)
		}
	})
}
