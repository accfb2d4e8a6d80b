package lists

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

// cursor is a place in a list: next to a row.
type cursor struct {
	sort     string // the order that it belongs to, as in the parameter
	backward bool   // the page ends before the row, instead of beginning after it
	at       key
	id       string // of the row
}

// key is what rows are sorted by: a number or a text.
type key struct {
	n int64
	s string
}

// maxKey is how many bytes of a text count for its order, so that cursors stay short. Rows that are equal so far are in the order of their ids.
const maxKey = 64

// cursorFormat is the first byte of a cursor.
const cursorFormat = 1

var errCursor = errors.New("it is none that this list has given")

// String encodes the cursor for an address.
func (c cursor) String() string {
	b := []byte{cursorFormat, 0}
	if c.backward {
		b[1] = 1
	}
	b = binary.AppendVarint(b, c.at.n)
	for _, text := range []string{c.sort, c.at.s, c.id} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads what String writes, and nothing else.
func parseCursor(text string) (c cursor, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 3 || b[0] != cursorFormat || b[1] > 1 {
		return c, errCursor
	}
	c.backward = b[1] == 1
	n, size := binary.Varint(b[2:])
	if size <= 0 {
		return c, errCursor
	}
	c.at.n, b = n, b[2+size:]
	for _, to := range []*string{&c.sort, &c.at.s, &c.id} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return c, errCursor
		}
		*to, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	if len(b) > 0 || len(c.at.s) > maxKey || c.String() != text {
		return c, errCursor
	}
	return c, nil
}

// wrongCursor says what is wrong with a cursor.
func wrongCursor(text string, err error) error {
	return fmt.Errorf("cursor is %.100q: %w. Leave it out to begin with the first page", text, err)
}
