package study

import (
	"fmt"
	"io"
	"strings"

	"heddle/sim/study/measure"
)

type (
	sample = measure.Sample
	// Table is figures with what they are.
	Table = measure.Table
	// Cell is a figure with its error.
	Cell = measure.Cell
	// Seeds are those of a study's simulations.
	Seeds = measure.Seeds
	// Options say how a study is run.
	Options = measure.Options
	// Parameter is what a study can be told.
	Parameter = measure.Parameter
)

var words = measure.Words

// ParametersOf returns those of a study.
func ParametersOf(name string) []Parameter { return studies[name].parameters }

// Usage lists the parameters of all studies.
func Usage() string {
	var b strings.Builder
	b.WriteString("Parameters (--set):\n")
	for _, name := range Names() {
		for _, p := range studies[name].parameters {
			fmt.Fprintf(&b, "  %s: %s=%s: %s\n", name, p.Name, p.Default, p.What)
		}
	}
	return b.String()
}

// Write prints the tables.
func (s *Study) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s Seeds %v: mean ± standard error; changes are paired by seed.\n", s.Title, s.Seeds)
	for i := range s.Tables {
		if err := s.Tables[i].Write(w); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes the tables as JSON.
func (s *Study) WriteJSON(w io.Writer) error {
	x := measure.Results{Title: s.Title, Seeds: s.Seeds.String(), Tables: s.Tables}
	return x.Write(w)
}
