package history

import (
	"encoding/csv"
	"fmt"
	"strings"
	"time"

	yarnrest "heddle/yarn/rest"
)

// setFormat lets a link ask for CSV.
func setFormat(c *yarnrest.Call) error {
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

// table is a table in CSV.
type table struct {
	text strings.Builder
	w    *csv.Writer
}

func newTable(head ...string) *table {
	t := &table{}
	t.w = csv.NewWriter(&t.text)
	t.add(head...)
	return t
}

// add adds a row. A program for tables takes what begins with one of some characters for a formula, and users choose their names.
func (t *table) add(row ...string) {
	for i, cell := range row {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			row[i] = "'" + cell
		}
	}
	_ = t.w.Write(row) // a Builder takes everything
}

func (t *table) reply() yarnrest.Reply {
	t.w.Flush()
	return yarnrest.Reply{Text: t.text.String()}
}

// stamp is a time as programs for tables read it.
func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
