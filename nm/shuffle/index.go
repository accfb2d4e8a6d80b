package shuffle

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync"

	"heddle/yarn/records"
)

// partition is one reducer's range of a map output.
type partition struct {
	start int64 // offset in file.out
	raw   int64 // bytes once decompressed
	size  int64 // bytes in file.out
}

const (
	recordSize = 24       // three 64-bit numbers
	crcSize    = 8        // a CRC-32 in 64 bits
	maxIndex   = 24 << 20 // of a million reducers
	largeIndex = 1 << 20
)

// reading is held while a large index is read: a job may have many, and may ask for all of them at once.
var reading sync.Mutex

// readIndex reads a spill index (org.apache.hadoop.mapred.SpillRecord): a record for each reducer, and the CRC-32 of
// all records.
func readIndex(f *os.File) ([]partition, error) {
	fi, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxIndex {
		return nil, fmt.Errorf("index of %d bytes is larger than %d MB", fi.Size(), maxIndex>>20)
	}
	if fi.Size()%recordSize != crcSize {
		return nil, fmt.Errorf("index of %d bytes is incomplete", fi.Size())
	}
	if fi.Size() > largeIndex {
		reading.Lock()
		defer reading.Unlock()
	}
	b := make([]byte, fi.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, err
	}
	return parseIndex(b)
}

// errChecksum says that an index was damaged.
var errChecksum = errors.New("checksum error")

func parseIndex(b []byte) ([]partition, error) {
	if len(b)%recordSize != crcSize {
		return nil, fmt.Errorf("index of %d bytes is incomplete", len(b))
	}
	body, sum := b[:len(b)-crcSize], b[len(b)-crcSize:]
	if binary.BigEndian.Uint64(sum) != uint64(crc32.ChecksumIEEE(body)) {
		return nil, errChecksum
	}
	ps := make([]partition, len(body)/recordSize)
	for i := range ps {
		r := body[i*recordSize:]
		p := partition{
			start: int64(binary.BigEndian.Uint64(r)),
			raw:   int64(binary.BigEndian.Uint64(r[8:])),
			size:  int64(binary.BigEndian.Uint64(r[16:])),
		}
		if p.start < 0 || p.raw < 0 || p.size < 0 || p.start+p.size < 0 {
			return nil, fmt.Errorf("index has an invalid range for reducer %d: %d bytes at %d", i, p.size, p.start)
		}
		ps[i] = p
	}
	return ps, nil
}

// indexCacheSize bounds the memory for indexes (mapreduce.reduce.shuffle.indexcache.mb's default).
const indexCacheSize = 10 << 20

// indexCache keeps the most recently used indexes. All reducers of a job ask for the same ones at about the same time.
// Attempts write their output once, so no index becomes stale.
type indexCache struct {
	limit int64

	mu     sync.Mutex
	bytes  int64
	items  map[indexKey]*list.Element
	recent *list.List // of *indexItem, the most recently used first
}

type indexKey struct {
	app     records.ApplicationID
	attempt string
}

// output is a map output with its index.
type output struct {
	dir        string // local directory of the output
	partitions []partition
}

type indexItem struct {
	key indexKey
	out output
}

func newIndexCache(limit int64) *indexCache {
	return &indexCache{limit: limit, items: map[indexKey]*list.Element{}, recent: list.New()}
}

// cost estimates the bytes that an item takes.
func (i *indexItem) cost() int64 { return 256 + int64(len(i.out.partitions))*recordSize }

func (c *indexCache) get(k indexKey) (output, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[k]
	if !ok {
		return output{}, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*indexItem).out, true
}

func (c *indexCache) put(k indexKey, o output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(k)
	item := &indexItem{key: k, out: o}
	if item.cost() > c.limit {
		return
	}
	c.items[k] = c.recent.PushFront(item)
	c.bytes += item.cost()
	for c.bytes > c.limit {
		c.remove(c.recent.Back().Value.(*indexItem).key)
	}
}

func (c *indexCache) remove(k indexKey) {
	if e, ok := c.items[k]; ok {
		c.recent.Remove(e)
		delete(c.items, k)
		c.bytes -= e.Value.(*indexItem).cost()
	}
}

// forget removes one index.
func (c *indexCache) forget(k indexKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(k)
}

// drop removes the indexes of an application.
func (c *indexCache) drop(app records.ApplicationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.items {
		if k.app == app {
			c.remove(k)
		}
	}
}
