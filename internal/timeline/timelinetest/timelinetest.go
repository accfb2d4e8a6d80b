// Package timelinetest checks pictures in tests.
package timelinetest

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// Shapes counts the elements of a name in an SVG picture. The test fails if the picture isn't XML, or has numbers that can't be drawn.
func Shapes(t testing.TB, picture, name string) (n int) {
	t.Helper()
	if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
		t.Errorf("a number can't be drawn: %s", picture)
	}
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == name {
			n++
		}
	}
}
