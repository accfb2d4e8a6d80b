package tfile

import (
	"errors"
	"io"
)

// appendVLong appends n in TFile's encoding (Utils.writeVLong). The first byte f determines the length:
//
//	f ≥ −32          the number itself
//	−72 ≤ f < −32    two bytes: f + 52, one more
//	−104 ≤ f < −72   three bytes: f + 88, two more
//	−120 ≤ f < −104  four bytes: f + 112, three more
//	−128 ≤ f < −120  f + 129 = 4…8 bytes follow
//
// All are big-endian two's complement.
func appendVLong(b []byte, n int64) []byte {
	if n >= -32 && n < 128 {
		return append(b, byte(n))
	}
	for i, limit := range [...]int64{20 << 8, 16 << 16, 8 << 24} {
		if n >= -limit && n < limit {
			offset := [...]int64{52, 88, 112}[i]
			more := i + 1
			b = append(b, byte(n>>(8*more)-offset))
			return appendBytes(b, n, more)
		}
	}
	size := 4
	for ; size < 8 && (n < -1<<(8*size-1) || n >= 1<<(8*size-1)); size++ {
	}
	return appendBytes(append(b, byte(size-129)), n, size)
}

// appendBytes appends the lowest count bytes of n.
func appendBytes(b []byte, n int64, count int) []byte {
	for i := count - 1; i >= 0; i-- {
		b = append(b, byte(n>>(8*i)))
	}
	return b
}

var errVLong = errors.New("not a number in TFile's encoding")

// readVLong reads what appendVLong writes. It returns io.EOF at the end of the input.
func readVLong(r io.ByteReader) (int64, error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	f := int64(int8(first))
	var n int64
	more := 0
	switch {
	case f >= -32:
		return f, nil
	case f >= -72:
		n, more = f+52, 1
	case f >= -104:
		n, more = f+88, 2
	case f >= -120:
		n, more = f+112, 3
	default:
		if more = int(f) + 129; more < 4 {
			return 0, errVLong
		}
	}
	for i := range more {
		c, err := r.ReadByte()
		if err != nil {
			return 0, noEOF(err)
		}
		if i == 0 && f < -120 {
			n = int64(int8(c))
			continue
		}
		n = n<<8 | int64(c)
	}
	return n, nil
}

// noEOF replaces io.EOF by an error where more input was expected.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
