// Package plain makes texts of others safe to print: names, reasons and messages that come from users and servers. A control character among
// them could make a terminal do anything, and one that ends a line could forge a row of a table. Stock YARN's commands print both.
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cell returns a text for one line: each control character, also the end of a line and a tab, becomes U+FFFD. So do invalid UTF-8 and
// characters that change the direction of what follows.
func Cell(s string) string { return replace(s, func(r rune) bool { return !hidden(r) }) }

// Text is Cell for a text of several lines: it keeps line feeds and tabs.
func Text(s string) string {
	return replace(s, func(r rune) bool { return !hidden(r) || r == '\n' || r == '\t' })
}

// hidden reports whether a character acts on a terminal or on what stands beside it, instead of being seen.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// WriteJSON writes a value, which may be a document of others (json.RawMessage), as JSON with indentation.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escaped(b.String()))
	return err
}

// escaped writes the characters that Text replaces as escape sequences, which mean the same. A document may hold them in strings as they are.
func escaped(s string) string {
	if Text(s) == s {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func replace(s string, keep func(rune) bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !keep(r) }) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if !keep(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Writer prints texts. A character may not be divided between two writes.
type Writer struct{ W io.Writer }

func (w Writer) Write(b []byte) (int, error) {
	if _, err := io.WriteString(w.W, Text(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
