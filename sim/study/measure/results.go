package measure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Results are what a study has found, as a file has it.
type Results struct {
	Title  string  `json:"title"`
	Seeds  string  `json:"seeds"`
	Tables []Table `json:"tables"`
}

// Write writes what a study has found, with a line for each row.
func (x *Results) Write(w io.Writer) error {
	type rowless struct { // a table without its rows
		Key     string   `json:"key"`
		Title   string   `json:"title"`
		Columns []string `json:"columns"`
		Notes   []string `json:"notes,omitempty"`
	}
	var b bytes.Buffer
	part := func(before string, v any) error {
		text, err := json.Marshal(v)
		b.WriteString(before)
		b.Write(text)
		return err
	}
	err := errors.Join(part("{\"title\": ", x.Title), part(",\n\"seeds\": ", x.Seeds))
	b.WriteString(",\n\"tables\": [")
	for i := range x.Tables {
		t := &x.Tables[i]
		if i > 0 {
			b.WriteString(",")
		}
		err = errors.Join(err, part("\n", rowless{t.Key, t.Title, t.Columns, t.Notes}))
		b.Truncate(b.Len() - 1) // the brace
		b.WriteString(",\"rows\": [")
		for k := range t.Rows {
			if k > 0 {
				b.WriteString(",")
			}
			err = errors.Join(err, part("\n ", t.Rows[k]))
		}
		b.WriteString("]}")
	}
	b.WriteString("]}\n")
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// ReadResults reads what Write has written.
func ReadResults(r io.Reader) (*Results, error) {
	x := &Results{}
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(x); err != nil {
		return nil, fmt.Errorf("results of a study: %w", err)
	}
	return x, nil
}

// Cell finds a figure of a table.
func (x *Results) Cell(table, row, column string) (Cell, error) {
	for i := range x.Tables {
		if x.Tables[i].Key == table {
			return x.Tables[i].Cell(row, column)
		}
	}
	return Cell{}, fmt.Errorf("there is no table %q", table)
}
