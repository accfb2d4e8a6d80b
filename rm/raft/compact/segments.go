package compact

import (
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// Segments knows the files of the log's segments, in the order of their entries, and signals when a segment begins. It is safe for
// concurrent use.
type Segments struct {
	dir   string
	begun chan struct{} // has room for one signal

	mu  sync.Mutex
	all []segmentAt // the last one is being written
}

// segmentAt is a segment's file, and the index of the first entry that may be in it.
type segmentAt struct {
	first uint64
	path  string
}

// NewSegments returns the segments of a log in a folder; there are none yet.
func NewSegments(dir string) *Segments { return &Segments{dir: dir, begun: make(chan struct{}, 1)} }

// Begin notes a segment that follows all others, or replaces those that begin at the same entry or later: the log's end was cut off then.
func (s *Segments) Begin(info types.SegmentInfo) {
	s.mu.Lock()
	for n := len(s.all); n > 0 && s.all[n-1].first >= info.BaseIndex; n-- {
		s.all = s.all[:n-1]
	}
	s.all = append(s.all, segmentAt{info.BaseIndex, filepath.Join(s.dir, segment.FileName(info))})
	s.mu.Unlock()
	select {
	case s.begun <- struct{}{}:
	default: // the last signal hasn't been received yet
	}
}

// sizes returns the first entry and the size in bytes of each segment that has entries at or behind first, the log's first one (0: the
// log is empty). The last one is being written.
func (s *Segments) sizes(first uint64) (from []uint64, bytes []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.all) > 1 && (first == 0 || s.all[1].first <= first) {
		s.all = s.all[1:] // its file was deleted
	}
	for _, seg := range s.all {
		size := int64(0)
		if info, err := os.Stat(seg.path); err == nil {
			size = info.Size()
		}
		from, bytes = append(from, seg.first), append(bytes, size)
	}
	return from, bytes
}

// total returns the size in bytes of the segments' files.
func (s *Segments) total(first uint64) (sum int64) {
	_, bytes := s.sizes(first)
	for _, b := range bytes {
		sum += b
	}
	return sum
}

// after returns the size in bytes of the full segments that have entries behind an index.
func (s *Segments) after(first, index uint64) (sum int64) {
	from, bytes := s.sizes(first)
	for i := 0; i+1 < len(from); i++ {
		if from[i+1] > index+1 {
			sum += bytes[i]
		}
	}
	return sum
}

// lastWithin returns how many of the log's entries up to last are in the segment that is being written and in the full ones before it
// that take at most so many bytes.
func (s *Segments) lastWithin(first, last uint64, most int64) uint64 {
	from, bytes := s.sizes(first)
	if len(from) == 0 {
		return math.MaxUint64
	}
	i := len(from) - 1
	for ; i > 0 && bytes[i-1] <= most; i-- {
		most -= bytes[i-1]
	}
	if from[i] > last {
		return 0
	}
	return last + 1 - from[i]
}
