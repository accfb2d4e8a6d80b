package javaio

import (
	"bytes"
	"strings"
	"testing"
)

func TestUTF(t *testing.T) {
	for s, want := range map[string]string{ // by DataOutputStream.writeUTF
		"":             "\x00\x00",
		"a\x00b":       "\x00\x04a\xc0\x80b",
		"é€":           "\x00\x05\xc3\xa9\xe2\x82\xac",
		"\U0001F600":   "\x00\x06\xed\xa0\xbd\xed\xb8\x80",
		"\U0010FFFF x": "\x00\x08\xed\xaf\xbf\xed\xbf\xbf x",
	} {
		b, err := AppendUTF(nil, s)
		if string(b) != want || err != nil {
			t.Errorf("%q is %q, %v, want %q", s, b, err, want)
		}
		if got, err := ReadUTF(bytes.NewReader(b)); got != s || err != nil {
			t.Errorf("%q comes back as %q, %v", s, got, err)
		}
	}
	if _, err := AppendUTF(nil, strings.Repeat("€", 21846)); err == nil {
		t.Error("a string too long was taken")
	}
	for _, bad := range []string{"\x00", "\x00\x01", "\x00\x01\xff", "\x00\x01\xc3", "\x00\x02\xc3a", "\x00\x03\xe2\x82a", "\x00\x02\xe2\x82", "\x00\x01\x80"} {
		if s, err := ReadUTF(strings.NewReader(bad)); err == nil {
			t.Errorf("%q was read as %q", bad, s)
		}
	}
}
