package javaio

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// What is read is text, and is read again when it has been written.
func FuzzReadUTF(f *testing.F) {
	for _, s := range []string{"", "plain", "zero\x00, ü, €, 😀"} {
		b, err := AppendUTF(nil, s)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte{0, 3, 0xed, 0xa0, 0xbd}) // half of a pair of surrogates
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ReadUTF(bytes.NewReader(b))
		if err != nil {
			return
		}
		if !utf8.ValidString(s) || len(s) > 2*len(b) {
			t.Fatalf("% x became %q", b, s)
		}
		again, err := AppendUTF(nil, s)
		if err != nil {
			if len(s) < 0xffff/3 {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		back, err := ReadUTF(bytes.NewReader(again))
		if err != nil || back != s {
			t.Fatalf("%q came back as %q, %v", s, back, err)
		}
	})
}
