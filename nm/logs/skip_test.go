package logs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"heddle/nm/logs/ifile"
)

// metered counts the bytes that are read.
type metered struct {
	*bytes.Reader
	read atomic.Int64
}

func (m *metered) ReadAt(p []byte, at int64) (int, error) {
	n, err := m.Reader.ReadAt(p, at)
	m.read.Add(int64(n))
	return n, err
}

func (m *metered) Close() error { return nil }

// To show the end of a log, or the next log, everything before it was read: of a log of 10 GB all of it.
func TestPassingOverALogReadsLittleOfIt(t *testing.T) {
	const size = 48 << 20
	line := []byte(strings.Repeat("0123456789abcde\n", 1<<16))
	large := func() io.Reader {
		var all []io.Reader
		for range size / len(line) {
			all = append(all, bytes.NewReader(line))
		}
		return io.MultiReader(all...)
	}
	for name, each := range map[string]func(File, NodeFile, func(AggregatedLog, io.Reader) error) error{"TFile": eachRecord, "IFile": eachIndexed} {
		var b bytes.Buffer
		const id = "container_1_0001_01_000001"
		if name == "TFile" {
			w, err := NewFileWriter(&b, "none", "alice", nil)
			for _, step := range []func() error{
				func() error { return w.Begin(id) },
				func() error { return w.Log("stderr", size, large()) },
				func() error { return w.Log("stdout", 3, strings.NewReader("out")) },
				w.End, w.Close,
			} {
				if err == nil {
					err = step()
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		} else {
			w, err := ifile.NewWriter(&b, ifile.Info{App: "application_1_0001", Owner: "alice", Node: "n:1", Name: "n_1", Compression: "none"})
			if err == nil {
				err = w.Log(id, "stderr", size, 1, large())
			}
			if err == nil {
				err = w.Log(id, "stdout", 3, 1, strings.NewReader("out"))
			}
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		file := &metered{Reader: bytes.NewReader(b.Bytes())}
		got := map[string]string{}
		err := each(file, NodeFile{good: -1}, func(l AggregatedLog, content io.Reader) error {
			tail := min(l.Length, 16)
			if err := Skip(content, l.Length-tail); err != nil {
				return err
			}
			text, err := io.ReadAll(io.LimitReader(content, tail))
			got[l.Name] = string(text)
			return err
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got["stderr"] != "0123456789abcde\n" || got["stdout"] != "out" {
			t.Errorf("%s: %q", name, got)
		}
		if read := file.read.Load(); read > 1<<20 {
			t.Errorf("%s: %d bytes of a file of %d were read", name, read, b.Len())
		}
		over := fmt.Errorf("the test is broken")
		_ = each(file, NodeFile{good: -1}, func(l AggregatedLog, content io.Reader) error {
			over = Skip(content, l.Length+1)
			return io.EOF
		})
		if over == nil {
			t.Errorf("%s: more was passed over than there is", name)
		}
	}
}
