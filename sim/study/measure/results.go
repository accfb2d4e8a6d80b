package measure

import (
	"encoding/json"
	"fmt"
	"io"
)

// Results are what a study has found, as a file has it.
type Results struct {
	Title  string  `json:"title"`
	Seeds  string  `json:"seeds"`
	Tables []Table `json:"tables"`
}

// Write writes what a study has found.
func (x *Results) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(x)
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
