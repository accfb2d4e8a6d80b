package usage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// width is the number of values of a point: the figures, and how many samples they are the sum of.
const width = int(figures) + 1

// values is a point of a series.
type values [width]int64

func (v *values) zero() bool { return *v == values{} }

// point is the values from a step on, until the next point.
type point struct {
	step int64
	values
}

// chunkSize is the size in bytes at which a chunk is full.
const chunkSize = 1024

// chunk is a part of a series: points, each as the differences from the one before, the first from zero. Its bytes are never changed; more may be appended
// to the last chunk of a series.
type chunk struct {
	first, last int64 // steps of the first and the last point
	data        []byte
}

// appendPoint appends a point that comes steps after before.
func appendPoint(data []byte, steps int64, before, v *values) []byte {
	mask := uint64(0)
	for i := range v {
		if v[i] != before[i] {
			mask |= 1 << i
		}
	}
	data = binary.AppendUvarint(data, uint64(steps))
	data = binary.AppendUvarint(data, mask)
	for i := range v {
		if v[i] != before[i] {
			data = binary.AppendVarint(data, v[i]-before[i])
		}
	}
	return data
}

var errTorn = errors.New("a chunk of the history is damaged")

// readPoint reads the point after p. It returns what follows.
func readPoint(data []byte, p *point) ([]byte, error) {
	steps, n := binary.Uvarint(data)
	if n <= 0 || steps > 1<<40 {
		return nil, errTorn
	}
	data = data[n:]
	mask, n := binary.Uvarint(data)
	if n <= 0 || mask>>width != 0 {
		return nil, errTorn
	}
	data = data[n:]
	p.step += int64(steps)
	for i := range width {
		if mask>>i&1 == 0 {
			continue
		}
		d, n := binary.Varint(data)
		if n <= 0 {
			return nil, errTorn
		}
		data = data[n:]
		p.values[i] += d
	}
	return data, nil
}

// each calls f with the points of a chunk that was checked.
func (c *chunk) each(f func(*point)) {
	p := point{step: c.first}
	for data := c.data; len(data) > 0; {
		rest, err := readPoint(data, &p)
		if err != nil {
			return
		}
		data = rest
		f(&p)
	}
}

// readChunk checks a chunk of a snapshot, and returns its last values.
func readChunk(first int64, data []byte) (c chunk, end values, err error) {
	p := point{step: first}
	c = chunk{first: first, last: first, data: slices.Clip(data)}
	for n := 0; len(data) > 0; n++ {
		before := p.step
		if data, err = readPoint(data, &p); err != nil {
			return c, end, err
		}
		if n == 0 && p.step != first || n > 0 && p.step <= before {
			return c, end, fmt.Errorf("step %d after %d: %w", p.step, before, errTorn)
		}
	}
	c.last = p.step
	return c, p.values, nil
}

// series is how values went over time: from one point to the next they stay.
type series struct {
	base   values // before the first chunk
	chunks []chunk
	end    values // now
}

// put enters values that hold from a step on, which is later than all before.
func (s *series) put(step int64, v *values) {
	if *v == s.end {
		return
	}
	if n := len(s.chunks); n == 0 || len(s.chunks[n-1].data) >= chunkSize {
		s.chunks = append(s.chunks, chunk{first: step, last: step, data: appendPoint(nil, 0, &values{}, v)})
	} else {
		c := &s.chunks[n-1]
		c.data = appendPoint(c.data, step-c.last, &s.end, v)
		c.last = step
	}
	s.end = *v
}

// forget drops what ends before a step. It reports whether nothing is left.
func (s *series) forget(oldest int64) (empty bool) {
	n := 0
	for n < len(s.chunks) && (n+1 < len(s.chunks) && s.chunks[n+1].first <= oldest || n+1 == len(s.chunks) && s.chunks[n].last <= oldest) {
		s.chunks[n].each(func(p *point) { s.base = p.values })
		n++
	}
	s.chunks = append([]chunk(nil), s.chunks[n:]...)
	return len(s.chunks) == 0 && s.base.zero()
}

// at calls f with the values at each of some steps, which ascend.
func (s *series) at(steps []int64, f func(step int64, v *values)) {
	now, next := s.base, 0
	until := func(step int64) { // those before it
		for ; next < len(steps) && steps[next] < step; next++ {
			f(steps[next], &now)
		}
	}
	for i := range s.chunks {
		if next < len(steps) && i+1 < len(s.chunks) && s.chunks[i+1].first <= steps[next] {
			continue // it says nothing of these steps
		}
		s.chunks[i].each(func(p *point) {
			until(p.step)
			now = p.values
		})
	}
	until(1 << 62)
}

// size is about how many bytes the series takes.
func (s *series) size(name string) (n int) {
	for i := range s.chunks {
		n += len(s.chunks[i].data) + 48
	}
	return n + len(name) + 2*8*width + 100
}
