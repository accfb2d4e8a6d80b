// Package table answers with tables in CSV.
package table

import (
	"encoding/csv"
	"fmt"
	"strings"
	"time"

	yarnrest "heddle/yarn/rest"
)

// Formats are those of an endpoint that has a table.
var Formats = []yarnrest.Format{yarnrest.JSON, yarnrest.XML, yarnrest.CSV}

// SetFormat lets a link ask for CSV: ?format=csv. The error refuses other values.
func SetFormat(c *yarnrest.Call) error {
	switch text := c.Query().Get("format"); text {
	case "":
	case "csv":
		c.Format = yarnrest.CSV
	case "json":
		c.Format = yarnrest.JSON
	default:
		return fmt.Errorf("format is %.60q: it may be json or csv", text)
	}
	return nil
}

// Table is a table in CSV.
type Table struct {
	text strings.Builder
	w    *csv.Writer
}

// New returns a table with the heads of its columns.
func New(head ...string) *Table {
	t := &Table{}
	t.w = csv.NewWriter(&t.text)
	t.Add(head...)
	return t
}

// Add adds a row. A program for tables takes what begins with one of some characters for a formula, and users choose their names.
func (t *Table) Add(row ...string) {
	for i, cell := range row {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			row[i] = "'" + cell
		}
	}
	_ = t.w.Write(row) // a Builder takes everything
}

// Reply returns the table as an answer.
func (t *Table) Reply() yarnrest.Reply {
	t.w.Flush()
	return yarnrest.Reply{Text: t.text.String()}
}

// Stamp is a time as programs for tables read it.
func Stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
