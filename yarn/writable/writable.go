// Package writable reads and writes the primitives of Hadoop's own serialization (org.apache.hadoop.io.Writable and
// WritableUtils), which tokens, credentials files, shuffle headers and recovery keys still use: variable-length
// integers, length-prefixed bytes and Text.
//
// A variable-length integer takes one byte for −112…127. Otherwise the first byte gives sign and length, −113…−120 for
// 1…8 bytes of a positive number, −121…−128 for those of a negative one, which is stored as its one's complement; the
// bytes follow, big-endian.
package writable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// ErrNegativeLength is the error for a byte string that claims a negative length.
var ErrNegativeLength = errors.New("negative length")

// AppendVLong appends v as a variable-length integer of 1 to 9 bytes.
func AppendVLong(b []byte, v int64) []byte {
	if v >= -112 && v <= 127 {
		return append(b, byte(v))
	}
	first := -112
	if v < 0 {
		v = ^v
		first = -120
	}
	n := 1
	for x := v >> 8; x != 0; x >>= 8 {
		n++
	}
	b = append(b, byte(first-n))
	for n--; n >= 0; n-- {
		b = append(b, byte(v>>(8*n)))
	}
	return b
}

// AppendBytes appends p after its length.
func AppendBytes(b, p []byte) []byte { return append(AppendVLong(b, int64(len(p))), p...) }

// AppendText appends s, which Java takes for UTF-8, after its length in bytes.
func AppendText(b []byte, s string) []byte { return append(AppendVLong(b, int64(len(s))), s...) }

// Reader takes values from the front of a byte string. Don't use it after an error. Results don't alias its input,
// except for Rest.
type Reader struct {
	rest []byte
}

// NewReader returns a reader of b.
func NewReader(b []byte) *Reader { return &Reader{rest: b} }

// Rest returns the unread bytes. They alias the input.
func (r *Reader) Rest() []byte { return r.rest }

func (r *Reader) take(n int) ([]byte, error) {
	if n > len(r.rest) {
		return nil, fmt.Errorf("%d bytes expected, %d left: %w", n, len(r.rest), io.ErrUnexpectedEOF)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b, nil
}

// VLong reads a variable-length integer.
func (r *Reader) VLong() (int64, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	first := int8(b[0])
	if first >= -112 {
		return int64(first), nil
	}
	n, negative := -112-int(first), false
	if first < -120 {
		n, negative = -120-int(first), true
	}
	if b, err = r.take(n); err != nil {
		return 0, err
	}
	var v int64
	for _, c := range b {
		v = v<<8 | int64(c)
	}
	if negative {
		v = ^v
	}
	return v, nil
}

// VInt reads a variable-length integer of the range of int32.
func (r *Reader) VInt() (int32, error) {
	v, err := r.VLong()
	if err != nil {
		return 0, err
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		return 0, fmt.Errorf("%d does not fit 32 bits", v)
	}
	return int32(v), nil
}

// Int32 reads four bytes, big-endian.
func (r *Reader) Int32() (int32, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

// Int64 reads eight bytes, big-endian.
func (r *Reader) Int64() (int64, error) {
	b, err := r.take(8)
	if err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// Byte reads one byte.
func (r *Reader) Byte() (byte, error) {
	b, err := r.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (r *Reader) prefixed() ([]byte, error) {
	n, err := r.VInt()
	if err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("%w %d", ErrNegativeLength, n)
	}
	return r.take(int(n))
}

// Bytes reads what AppendBytes wrote; it is never nil.
func (r *Reader) Bytes() ([]byte, error) {
	b, err := r.prefixed()
	if err != nil {
		return nil, err
	}
	return append([]byte{}, b...), nil
}

// Text reads what AppendText wrote. Bytes that are not UTF-8 are kept, so that writing gives the same bytes again.
func (r *Reader) Text() (string, error) {
	b, err := r.prefixed()
	return string(b), err
}
