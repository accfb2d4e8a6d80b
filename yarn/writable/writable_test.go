package writable

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// The byte strings are what Java's WritableUtils.writeVLong gives.
func TestVLongBytes(t *testing.T) {
	for _, c := range []struct {
		v    int64
		want []byte
	}{
		{0, []byte{0}},
		{127, []byte{127}},
		{-112, []byte{0x90}},
		{128, []byte{0x8f, 0x80}},
		{-113, []byte{0x87, 0x70}},
		{255, []byte{0x8f, 0xff}},
		{256, []byte{0x8e, 1, 0}},
		{-256, []byte{0x87, 0xff}},
		{-257, []byte{0x86, 1, 0}},
		{math.MaxInt64, []byte{0x88, 0x7f, 255, 255, 255, 255, 255, 255, 255}},
		{math.MinInt64, []byte{0x80, 0x7f, 255, 255, 255, 255, 255, 255, 255}},
	} {
		if got := AppendVLong(nil, c.v); !bytes.Equal(got, c.want) {
			t.Errorf("%d written as %x, want %x", c.v, got, c.want)
		}
		if got, err := NewReader(c.want).VLong(); err != nil || got != c.v {
			t.Errorf("%x read as %d, %v, want %d", c.want, got, err, c.v)
		}
	}
}

func TestEverythingSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64().Draw(t, "long")
		p := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "text"))
		r := NewReader(append(AppendText(AppendBytes(AppendVLong(nil, v), p), s), 9))
		if got, err := r.VLong(); err != nil || got != v {
			t.Fatalf("%d came back as %d, %v", v, got, err)
		}
		if got, err := r.Bytes(); err != nil || !bytes.Equal(got, p) {
			t.Fatalf("%x came back as %x, %v", p, got, err)
		}
		if got, err := r.Text(); err != nil || got != s {
			t.Fatalf("%q came back as %q, %v", s, got, err)
		}
		if !bytes.Equal(r.Rest(), []byte{9}) {
			t.Fatalf("%x left over", r.Rest())
		}
	})
}

func TestWrongInput(t *testing.T) {
	if _, err := NewReader([]byte{5, 1, 2}).Bytes(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short bytes: %v", err)
	}
	if _, err := NewReader([]byte{0x8c, 1, 2}).VLong(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("short number: %v", err)
	}
	if _, err := NewReader([]byte{0xff}).Text(); !errors.Is(err, ErrNegativeLength) {
		t.Errorf("length −1: %v", err)
	}
	if _, err := NewReader(AppendVLong(nil, math.MaxInt32+1)).VInt(); err == nil {
		t.Error("a number of 33 bits was read as one of 32")
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte{0x8f, 0x80, 1, 2})
	f.Add([]byte{0x80, 0x7f, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(b)
		for len(r.Rest()) > 0 {
			before := len(r.Rest())
			v, err := r.VLong()
			if err != nil {
				return
			}
			used := b[len(b)-before : len(b)-len(r.Rest())]
			if again, err := NewReader(AppendVLong(nil, v)).VLong(); err != nil || again != v {
				t.Fatalf("%x read as %d, which comes back as %d, %v", used, v, again, err)
			}
			if p, err := NewReader(r.Rest()).Bytes(); err == nil && len(p) > len(r.Rest()) {
				t.Fatalf("%d bytes out of %d", len(p), len(r.Rest()))
			}
		}
	})
}
