package logs

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/nm/logs/tfile"
)

// The file that a stock NodeManager wrote.
func golden(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("tfile/testdata/aggregated-log.tfile")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type logEntry struct {
	container, name, content string
}

func readLogs(b []byte) (logs []logEntry, err error) {
	f, err := NewFileReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	for f.Next() {
		for {
			name, size, ok := f.NextLog()
			if !ok {
				break
			}
			content, err := io.ReadAll(f)
			if err != nil {
				return logs, err
			}
			if int64(len(content)) != size {
				return logs, fmt.Errorf("%s has %d bytes, not %d", name, len(content), size)
			}
			logs = append(logs, logEntry{f.Container(), name, string(content)})
		}
	}
	return logs, f.Err()
}

func writeLogs(t interface {
	Helper()
	Fatal(args ...any)
}, compression, owner string, acls map[string]string, logs ...logEntry,
) []byte {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	w, err := NewFileWriter(&b, compression, owner, acls)
	must(err)
	for i, l := range logs {
		if i == 0 || logs[i-1].container != l.container {
			must(w.Begin(l.container))
		}
		must(w.Log(l.name, int64(len(l.content)), strings.NewReader(l.content)))
		if i == len(logs)-1 || logs[i+1].container != l.container {
			must(w.End())
		}
	}
	must(w.Close())
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	want := golden(t)
	logs, err := readLogs(want)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range logs {
		names = append(names, l.name)
		if l.container != "container_1795253712789_0009_01_000001" {
			t.Errorf("container %s", l.container)
		}
	}
	if got, want := strings.Join(names, " "), "directory.info launch_container.sh prelaunch.err prelaunch.out"; got != want {
		t.Errorf("logs %s, want %s", got, want)
	}
	f, err := NewFileReader(bytes.NewReader(want), int64(len(want)))
	if err != nil {
		t.Fatal(err)
	}
	owner, err := f.Owner()
	if owner != "root" || err != nil {
		t.Errorf("owner %q, %v", owner, err)
	}
	acls, err := f.ACLs()
	if len(acls) != 0 || err != nil {
		t.Errorf("ACLs %v, %v", acls, err)
	}
	if got := writeLogs(t, tfile.None, owner, acls, logs...); !bytes.Equal(got, want) {
		t.Errorf("written again:\n%q, want\n%q", got, want)
	}
}

// bigLogs give several data blocks, values of several chunks, and odd names.
func bigLogs() []logEntry {
	line := func(c byte, n int) string {
		return strings.Repeat(strings.Repeat(string(c), 99)+"\n", n/100) + strings.Repeat(string(c), n%100)
	}
	return []logEntry{
		{"container_1_0001_01_000001", "empty", ""},
		{"container_1_0001_01_000001", "stderr", line('e', 65535)},
		{"container_1_0001_01_000001", "stdout", line('o', 3_500_000)},
		{"container_1_0001_01_000002", "a", line('a', 300_000)},
		{"container_1_0001_01_000003", "b", line('b', 10)},
		{"container_1_0001_01_000003", "c", line('c', 983_039)}, // a chunk's worth with what precedes it
		{"container_1_0001_01_000003", "d", line('d', 1<<20)},
		{"container_e02_1_0001_01_000004", "ünï", line('u', 200)},
	}
}

// The same logs, written by AggregatedLogFormat.LogWriter of Hadoop 3.4.2, have this size and digest.
func TestLargeFileLikeStock(t *testing.T) {
	b := writeLogs(t, tfile.None, "alice", map[string]string{ViewApp: "alice,bob ops", ModifyApp: " "}, bigLogs()...)
	const wantSize, wantSum = 5898025, "b48e6e8d8136d89776564b0454d1221c29fa7be3271977500079e2630819aa16"
	if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != wantSum || len(b) != wantSize {
		t.Errorf("%d bytes, %s; stock has %d, %s", len(b), got, wantSize, wantSum)
	}
	wantBigLogs(t, b)
}

// The same logs, written by stock with compression gz. Its bytes depend on the implementation of zlib.
func TestReadsStockGZ(t *testing.T) {
	b, err := os.ReadFile("testdata/stock-gz.tfile")
	if err != nil {
		t.Fatal(err)
	}
	wantBigLogs(t, b)
	f, err := NewFileReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if acls, err := f.ACLs(); err != nil || fmt.Sprint(acls) != "map[MODIFY_APP:  VIEW_APP:alice,bob ops]" {
		t.Errorf("ACLs %v, %v", acls, err)
	}
}

func wantBigLogs(t *testing.T, b []byte) {
	t.Helper()
	logs, err := readLogs(b)
	if err != nil {
		t.Fatal(err)
	}
	want := bigLogs()
	if len(logs) != len(want) {
		t.Fatalf("%d logs, want %d", len(logs), len(want))
	}
	for i, l := range logs {
		if l != want[i] {
			t.Errorf("log %d: %s/%s of %d bytes", i, l.container, l.name, len(l.content))
		}
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var logs []logEntry
		for c := range rapid.IntRange(0, 3).Draw(t, "containers") {
			for l := range rapid.IntRange(1, 3).Draw(t, "logs") {
				logs = append(logs, logEntry{
					fmt.Sprintf("container_1_0001_01_%06d", c), fmt.Sprintf("%d%s", l, rapid.String().Draw(t, "name")),
					strings.Repeat("x", rapid.IntRange(0, 200000).Draw(t, "size")),
				})
			}
		}
		compression := rapid.SampledFrom([]string{tfile.None, tfile.GZ}).Draw(t, "compression")
		acls := map[string]string{ViewApp: rapid.String().Draw(t, "acl")}
		b := writeLogs(t, compression, "alice", acls, logs...)
		got, err := readLogs(b)
		if err != nil || len(got) != len(logs) {
			t.Fatalf("%d logs of %d, %v", len(got), len(logs), err)
		}
		for i := range logs {
			if got[i] != logs[i] {
				t.Errorf("%+v, want %+v", got[i], logs[i])
			}
		}
		f, err := NewFileReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := f.ACLs(); err != nil || again[ViewApp] != acls[ViewApp] || len(again) != 1 {
			t.Errorf("ACLs %q, %v", again, err)
		}
	})
}

// A log that got shorter, or breaks, does not spoil those after it.
func TestShortLog(t *testing.T) {
	var b bytes.Buffer
	w, err := NewFileWriter(&b, tfile.None, "alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin("container_1_0001_01_000001"); err != nil {
		t.Fatal(err)
	}
	var broken readError
	if err := w.Log("short", 10, strings.NewReader("12345")); !errors.As(err, &broken) {
		t.Errorf("short: %v", err)
	}
	if err := w.Log("next", 4, strings.NewReader("next")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(w.End(), w.Close()); err != nil {
		t.Fatal(err)
	}
	logs, err := readLogs(b.Bytes())
	if err != nil || len(logs) != 2 || logs[0].content != "12345\n\n\n\n\n" || logs[1].content != "next" {
		t.Errorf("%q, %v", logs, err)
	}
}

func FuzzFileReader(f *testing.F) {
	// The tail stays right: what is mutated there is no TFile. Samples are small: an input of some thousand bytes takes a minute to be
	// minimized, in which nothing else is tried.
	const tail = 8 + 4 + len(tfile.Magic)
	for _, sample := range [][]byte{
		writeLogs(f, tfile.None, "alice", map[string]string{ViewApp: "*"}, logEntry{"c", "n", "content"}),
		writeLogs(f, tfile.GZ, "alice", map[string]string{ViewApp: "*"}, logEntry{"c", "n", "content"}, logEntry{"c", "m", ""}),
	} {
		f.Add(sample[:len(sample)-tail], sample[len(sample)-tail:len(sample)-tail+8])
	}
	f.Fuzz(func(t *testing.T, body, index []byte) {
		data := append(slices.Clone(body), append(index, make([]byte, 8)...)[:8]...)
		data = append(append(data, 0, 1, 0, 0), tfile.Magic...)
		r, err := NewFileReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		r.Owner()
		r.ACLs()
		for n := 0; r.Next() && n < 100; n++ {
			for ; n < 100; n++ {
				if _, _, ok := r.NextLog(); !ok {
					break
				}
				io.CopyN(io.Discard, r, 1<<10)
			}
		}
	})
}
