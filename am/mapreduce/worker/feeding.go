package worker

import (
	"context"
	"io"
	"slices"
	"sync"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/hdfsadapter"
)

// feeding is how a map's commands get its split: in small portions, of which those that no command has taken yet can be left to other tasks.
// A nil feeding is that of a task that does all of its input.
type feeding struct {
	split *input.Split
	from  []int64 // where pieces begin, in bytes from the beginning of the split

	mu      sync.Mutex
	taken   int64 // likewise: what was taken ends there
	limit   int64 // what the task does ends there
	order   int   // the latest that was obeyed
	ignored bool  // the order had no effect
}

func newFeeding(s *input.Split) *feeding {
	f := &feeding{split: s}
	for _, p := range s.Pieces {
		f.from = append(f.from, f.limit)
		f.limit += p.Length
	}
	return f
}

// portions is how many portions a split has.
const portions = 64

func (f *feeding) portion() int64 { return max(1, f.split.Length/portions) }

// Bounds of what is on its way to a command, in bytes. A pipe can't have less than a page.
const (
	leastAtOnce = 4 << 10
	maxAtOnce   = 64 << 10
)

// atOnce returns how much may be on its way to a command: bytes there can't be left to others.
func (f *feeding) atOnce() int { return int(min(max(f.portion(), leastAtOnce), maxAtOnce)) }

// take takes the next portion of a piece: the lines that begin there are the caller's to feed. It reports false if there is none.
func (f *feeding) take(piece int) (offset, length int64, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.split.Pieces[piece]
	at := max(f.taken, f.from[piece])
	length = min(f.portion(), f.from[piece]+p.Length-at, f.limit-at)
	if length <= 0 {
		return 0, 0, false
	}
	if input.Codec(p.Path) != nil {
		length = p.Length
	}
	f.taken = at + length
	return p.Offset + at - f.from[piece], length, true
}

// stop obeys an order: it leaves what is behind a point of the split to others or, if that is more, what wasn't taken.
func (f *feeding) stop(s *job.Stop) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	to := max(1, f.taken, int64(max(0, min(s.At, 1))*float64(f.limit)))
	if i := f.pieceBefore(to); input.Codec(f.split.Pieces[i].Path) != nil {
		to = f.from[i] + f.split.Pieces[i].Length // all of it
	}
	f.order, f.ignored = s.Order, to >= f.limit
	f.limit = min(f.limit, to)
}

// pieceBefore returns the piece that has the byte before a point.
func (f *feeding) pieceBefore(to int64) int {
	i, _ := slices.BinarySearch(f.from, to)
	return max(0, i-1)
}

// stopped returns where the task stops; nil if it wasn't told to.
func (f *feeding) stopped() *job.Stopped {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.order == 0 {
		return nil
	}
	i := f.pieceBefore(f.limit)
	return &job.Stopped{Order: f.order, Piece: i, Offset: f.split.Pieces[i].Offset + f.limit - f.from[i], Not: f.ignored}
}

// leaves reports whether all of a piece is left to others.
func (f *feeding) leaves(piece int) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.from[piece] >= f.limit
}

// share returns which part of its split the task does.
func (f *feeding) share() float64 {
	if f == nil {
		return 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return float64(f.limit) / float64(max(f.split.Length, 1))
}

// feed writes the lines of the pieces from first to last, as far as they aren't left to others.
func (f *feeding) feed(ctx context.Context, files *hdfsadapter.FS, w io.Writer, first, last int, g *gauge) error {
	buf := make([]byte, min(lines.Chunk, max(f.portion(), leastAtOnce)))
	for i := first; i <= last; i++ {
		p := &f.split.Pieces[i]
		if input.Codec(p.Path) != nil {
			if _, _, more := f.take(i); more {
				if err := p.Feed(ctx, files, w, buf, func(n int) { g.stored.Add(int64(n)) }); err != nil {
					return err
				}
			}
			continue
		}
		err := p.FeedBy(ctx, files, w, buf, func() (int64, int64, bool) {
			offset, length, more := f.take(i)
			g.stored.Add(length)
			return offset, length, more
		})
		if err != nil {
			return err
		}
	}
	return nil
}
