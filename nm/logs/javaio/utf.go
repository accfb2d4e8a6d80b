// Package javaio reads and writes what Java programs write with the means of their language: strings of DataOutput, and
// serialized objects.
package javaio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendUTF appends s as Java's DataOutput.writeUTF does: its length in two bytes and "modified UTF-8". There a zero
// takes two bytes, and a character beyond 16 bits becomes its two surrogates of three bytes each. It fails above 64
// KiB.
func AppendUTF(b []byte, s string) ([]byte, error) {
	start := len(b)
	b = append(b, 0, 0)
	for _, r := range s {
		switch {
		case r == 0:
			b = append(b, 0xc0, 0x80)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = appendUnit(appendUnit(b, high), low)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	n := len(b) - start - 2
	if n > 0xffff {
		return nil, fmt.Errorf("string of %d bytes is longer than %d", n, 0xffff)
	}
	binary.BigEndian.PutUint16(b[start:], uint16(n))
	return b, nil
}

// appendUnit appends a code unit of three bytes. It may be a surrogate, which real UTF-8 forbids.
func appendUnit(b []byte, u rune) []byte {
	return append(b, 0xe0|byte(u>>12), 0x80|byte(u>>6)&0x3f|0x80, 0x80|byte(u)&0x3f)
}

var errUTF = errors.New("malformed modified UTF-8")

// ReadUTF reads what AppendUTF writes. It returns io.EOF at the end of the input.
func ReadUTF(r io.Reader) (string, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return "", err
	}
	b := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return "", err
	}
	return decodeUTF(b)
}

// decodeUTF decodes modified UTF-8.
func decodeUTF(b []byte) (string, error) {
	units := make([]uint16, 0, len(b))
	for len(b) > 0 {
		c := b[0]
		more := 0
		unit := uint16(c)
		switch {
		case c < 0x80:
		case c&0xe0 == 0xc0:
			more, unit = 1, uint16(c&0x1f)
		case c&0xf0 == 0xe0:
			more, unit = 2, uint16(c&0x0f)
		default:
			return "", errUTF
		}
		if len(b) <= more {
			return "", errUTF
		}
		for _, x := range b[1 : 1+more] {
			if x&0xc0 != 0x80 {
				return "", errUTF
			}
			unit = unit<<6 | uint16(x&0x3f)
		}
		units = append(units, unit)
		b = b[1+more:]
	}
	return string(utf16.Decode(units)), nil
}
