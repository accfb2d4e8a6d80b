package measure

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
)

// Table is figures with what they are.
type Table struct {
	Key     string   `json:"key"` // by which pages refer to it
	Title   string   `json:"title"`
	Columns []string `json:"columns"` // the first one is of the rows' names
	Rows    []Row    `json:"rows"`
	Notes   []string `json:"notes,omitempty"`
}

// Row is a row of a table.
type Row struct {
	Name  string `json:"name"`
	Cells []Cell `json:"cells"`
}

// Cell is a figure, or a text.
type Cell struct {
	Text    string  `json:"text,omitempty"`
	Mean    float64 `json:"mean,omitempty"`
	Error   float64 `json:"error,omitempty"` // the standard error of the mean
	Seeds   int     `json:"seeds,omitempty"` // of how many simulations; 0: it is a text
	Digits  int     `json:"digits,omitempty"`
	Percent bool    `json:"percent,omitempty"` // it is a change in percent
}

// String returns the figure with its standard error, if there is one.
func (c Cell) String() string {
	sign, unit := "", ""
	if c.Percent {
		sign, unit = "+", " %"
	}
	switch {
	case c.Seeds == 0:
		return c.Text
	case math.IsNaN(c.Mean) || math.IsInf(c.Mean, 0):
		return "–"
	case c.Seeds == 1:
		return fmt.Sprintf("%"+sign+".*f%s", c.Digits, c.Mean, unit)
	}
	return fmt.Sprintf("%"+sign+".*f ± %.*f%s", c.Digits, c.Mean, c.Digits, math.Abs(c.Error), unit)
}

// Words returns a cell that is a text.
func Words(format string, args ...any) Cell { return Cell{Text: fmt.Sprintf(format, args...)} }

// Add appends a row. Infinite figures and those that aren't known are left out.
func (t *Table) Add(name string, cells ...Cell) {
	for i := range cells {
		if c := &cells[i]; c.Seeds > 0 && (math.IsNaN(c.Mean+c.Error) || math.IsInf(c.Mean+c.Error, 0)) {
			*c = Cell{Text: "–"}
		}
	}
	t.Rows = append(t.Rows, Row{name, cells})
}

// Cell finds a figure.
func (t *Table) Cell(row, column string) (c Cell, err error) {
	for k, name := range t.Columns {
		if k == 0 || name != column {
			continue
		}
		for i := range t.Rows {
			if r := &t.Rows[i]; r.Name == row && k <= len(r.Cells) {
				return r.Cells[k-1], nil
			}
		}
		return c, fmt.Errorf("the table %s has no row %q", t.Key, row)
	}
	return c, fmt.Errorf("the table %s has no column %q", t.Key, column)
}

// Write prints a table.
func (t *Table) Write(w io.Writer) error {
	fmt.Fprintf(w, "\n%s\n\n", t.Title)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := "  " + t.Columns[0]
	for _, c := range t.Columns[1:] {
		line += "\t" + c
	}
	fmt.Fprintln(out, line)
	for _, r := range t.Rows {
		line := "  " + r.Name
		for _, c := range r.Cells {
			line += "\t" + c.String()
		}
		fmt.Fprintln(out, line)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, n := range t.Notes {
		if _, err := fmt.Fprintf(w, "  %s\n", n); err != nil {
			return err
		}
	}
	return nil
}
