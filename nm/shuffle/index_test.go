package shuffle

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/yarn/records"
)

// An index that was broken is read again once it has been mended, and a lost output is found on another disk.
func TestBrokenIndexIsNotRemembered(t *testing.T) {
	n := newNode(t, 0)
	n.stockOutputs()
	if got := n.exchange(n.get(0, "", attempt(2))); !strings.Contains(got, "Checksum error") {
		t.Fatalf("got %q", got)
	}
	n.output(1, testApp, "alice", attempt(2), part{7, "other disk"})
	if got := n.exchange(n.get(0, "", attempt(2))); !strings.HasSuffix(got, "other disk") {
		t.Errorf("got %q", got)
	}
	if err := os.RemoveAll(filepath.Join(n.dirs[1], "usercache")); err != nil {
		t.Fatal(err)
	}
	n.output(0, testApp, "alice", attempt(2), part{7, "mended"})
	n.exchange(n.get(0, "", attempt(2))) // notices
	if got := n.exchange(n.get(0, "", attempt(2))); !strings.HasSuffix(got, "mended") {
		t.Errorf("got %q", got)
	}
}

func TestIndexCache(t *testing.T) {
	c := newIndexCache(3 * 1000)
	key := func(i int) indexKey {
		return indexKey{records.ApplicationID{ClusterTimestamp: 1, ID: int32(i % 2)}, attempt(i)}
	}
	out := output{dir: "d", partitions: make([]partition, (1000-256)/recordSize)}
	for i := range 3 {
		c.put(key(i), out)
	}
	c.get(key(0))
	c.put(key(3), out)
	for i, want := range []bool{true, false, true, true} {
		if _, ok := c.get(key(i)); ok != want {
			t.Errorf("item %d is there: %v, want %v", i, ok, want)
		}
	}
	c.put(key(4), output{partitions: make([]partition, 10000)})
	if _, ok := c.get(key(4)); ok {
		t.Error("an index larger than the cache was kept")
	}
	c.put(key(0), out)
	c.drop(records.ApplicationID{ClusterTimestamp: 1, ID: 0})
	if _, ok := c.get(key(0)); ok || len(c.items) != 1 || c.recent.Len() != 1 || c.bytes != (&indexItem{out: out}).cost() {
		t.Errorf("after dropping one application: %d items, %d bytes", len(c.items), c.bytes)
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add(indexOf([]part{{7, "hello"}, {3, "x"}}))
	f.Add(indexOf(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= crcSize { // let the checksum be right, or nothing gets past it
			data = slices.Clone(data)
			binary.BigEndian.PutUint64(data[len(data)-crcSize:], uint64(crc32.ChecksumIEEE(data[:len(data)-crcSize])))
		}
		ps, err := parseIndex(data)
		if err != nil {
			return
		}
		var again []byte
		for _, p := range ps {
			if p.start < 0 || p.size < 0 || p.start+p.size < p.start {
				t.Errorf("impossible range %+v", p)
			}
			for _, v := range []int64{p.start, p.raw, p.size} {
				again = binary.BigEndian.AppendUint64(again, uint64(v))
			}
		}
		if !bytes.Equal(again, data[:len(data)-crcSize]) {
			t.Error("written again it differs")
		}
	})
}
