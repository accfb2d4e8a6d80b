package rest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoders make UTF-8 of a body, by the name of its character set.
var decoders = map[string]func([]byte) []byte{
	"":           func(b []byte) []byte { return b },
	"utf-8":      func(b []byte) []byte { return b },
	"us-ascii":   func(b []byte) []byte { return fromBytes(b, utf8.RuneSelf) },
	"iso-8859-1": func(b []byte) []byte { return fromBytes(b, 1<<8) },
	"utf-16":     fromUTF16,
	"utf-16be":   func(b []byte) []byte { return fromWords(b, binary.BigEndian) },
	"utf-16le":   func(b []byte) []byte { return fromWords(b, binary.LittleEndian) },
}

// decoder returns the decoder of a character set.
func decoder(charset string) (func([]byte) []byte, error) {
	if d := decoders[strings.ToLower(charset)]; d != nil {
		return d, nil
	}
	return nil, &Error{
		http.StatusUnsupportedMediaType, WebApplicationException,
		fmt.Sprintf("a body in the character set %q can't be read: send UTF-8 (or US-ASCII, ISO-8859-1, UTF-16, UTF-16BE, UTF-16LE)", charset),
	}
}

// fromBytes reads characters of one byte. Those from limit on don't exist.
func fromBytes(b []byte, limit int) []byte {
	out := make([]byte, 0, len(b)+len(b)/8)
	for _, c := range b {
		r := rune(c)
		if int(c) >= limit {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// fromUTF16 reads UTF-16, which is big-endian unless a byte order mark says otherwise.
func fromUTF16(b []byte) []byte {
	if bytes.HasPrefix(b, []byte{0xff, 0xfe}) {
		return fromWords(b[2:], binary.LittleEndian)
	}
	return fromWords(bytes.TrimPrefix(b, []byte{0xfe, 0xff}), binary.BigEndian)
}

func fromWords(b []byte, order binary.ByteOrder) []byte {
	words := make([]uint16, 0, len(b)/2+1)
	for ; len(b) > 1; b = b[2:] {
		words = append(words, order.Uint16(b))
	}
	if len(b) > 0 {
		words = append(words, uint16(utf8.RuneError)) // half a character
	}
	return []byte(string(utf16.Decode(words)))
}

// xmlText returns an XML body whose declaration, not the request's header, names the character set.
func xmlText(body []byte) []byte {
	if bytes.HasPrefix(body, []byte{0xff, 0xfe}) || bytes.HasPrefix(body, []byte{0xfe, 0xff}) {
		return fromUTF16(body)
	}
	return body
}

// xmlCharset decodes what follows an XML declaration.
func xmlCharset(charset string, rest io.Reader) (io.Reader, error) {
	d, err := decoder(charset)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.ToLower(charset), "utf-16") {
		return rest, nil // xmlText has decoded it, or the declaration would not be legible
	}
	b, err := io.ReadAll(rest)
	if err != nil {
		return nil, err
	}
	return bytes.NewReader(d(b)), nil
}
