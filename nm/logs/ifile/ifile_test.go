package ifile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func sample(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// read returns the logs of a file as "container/name:size content".
func read(b []byte) ([]string, error) {
	f, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	var logs []string
	for _, l := range f.Logs {
		r, err := f.Open(l)
		if err != nil {
			return logs, err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return logs, err
		}
		logs = append(logs, fmt.Sprintf("%s/%s:%d %s", l.Container, l.Name, l.Size, content))
	}
	slices.Sort(logs)
	return logs, nil
}

// Files that Hadoop 3.4.2 wrote.
func TestStock(t *testing.T) {
	logs, err := read(sample(t, "stock-none.ifile"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"container_1_0001_01_000001/empty:0 ", "container_1_0001_01_000001/stdout:17 out of the first\n",
		"container_e02_1_0001_01_000004/ünï:16 of another epoch",
	}
	if !slices.Equal(logs, want) {
		t.Errorf("got %q", logs)
	}
	logs, err = read(sample(t, "stock-gz.ifile"))
	if err != nil || len(logs) != 8 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	line := strings.Repeat("o", 99) + "\n"
	if want := "container_1_0001_01_000001/stdout:3500000 " + strings.Repeat(line, 35000); logs[2] != want {
		t.Errorf("the large log: %d bytes, %.80q", len(logs[2]), logs[2])
	}
	b := sample(t, "stock-gz.ifile")
	f, err := NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Owner != "alice" || fmt.Sprint(f.ACLs) != "map[MODIFY_APP:  VIEW_APP:alice,bob ops]" || f.Logs[0].ModTime == 0 {
		t.Errorf("owner %q, ACLs %v, first log %+v", f.Owner, f.ACLs, f.Logs[0])
	}
}

func TestDamage(t *testing.T) {
	good := sample(t, "stock-none.ifile")
	for n := range good {
		if _, err := read(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are a file", n, len(good))
		}
		bad := bytes.Clone(good)
		bad[n] ^= 0xff
		_, _ = read(bad)
	}
}

func TestChecksum(t *testing.T) {
	b := []byte("\x00\x00\x00\x04name\x00\x00\x00\x00\x00\x00\x01\x02")
	if name, n, err := ParseChecksum(b); name != "name" || n != 0x102 || err != nil {
		t.Errorf("%q, %d, %v", name, n, err)
	}
	for n := range b {
		if _, _, err := ParseChecksum(b[:n]); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
	if _, _, err := ParseChecksum([]byte("\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")); err == nil {
		t.Error("a negative length was taken")
	}
}

// zipped is a file whose index says that its logs are compressed. That of a stock node is long.
func zipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	at := len(plain) - tailSize
	n := binary.BigEndian.Uint32(plain[at:])
	out := bytes.Replace(plain[:at], []byte("\x00\x04none"), []byte("\x00\x02gz"), 1)
	if len(out) != at-2 {
		t.Fatal("the index doesn't say that logs aren't compressed")
	}
	return append(binary.BigEndian.AppendUint32(out, n-2), plain[at+4:]...)
}

// FuzzReader puts bytes over a good file in two places. Inputs are short so: one of some thousand bytes takes a minute to be minimized, in
// which nothing else is tried.
func FuzzReader(f *testing.F) {
	plain := sample(f, "stock-none.ifile")
	files := [][]byte{plain, zipped(f, plain)}
	for i, file := range files {
		if _, err := NewReader(bytes.NewReader(file), int64(len(file))); err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), uint16(0), []byte{}, uint16(0), []byte{})
	}
	f.Fuzz(func(t *testing.T, which byte, at uint16, over []byte, then uint16, further []byte) {
		data := bytes.Clone(files[int(which)%len(files)])
		copy(data[int(at)%len(data):], over)
		copy(data[int(then)%len(data):], further)
		r, err := NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, l := range r.Logs[:min(10, len(r.Logs))] {
			if in, err := r.Open(l); err == nil {
				io.CopyN(io.Discard, in, 64<<10)
			}
		}
	})
}

func FuzzParseChecksum(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x04name\x00\x00\x00\x00\x00\x00\x01\x02"))
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		name, good, err := ParseChecksum(b)
		if err != nil {
			return
		}
		again := append(binary.BigEndian.AppendUint32(nil, uint32(len(name))), name...)
		if again = binary.BigEndian.AppendUint64(again, uint64(good)); good < 0 || !bytes.HasPrefix(b, again) {
			t.Errorf("%q became %q and %d", b, name, good)
		}
	})
}
