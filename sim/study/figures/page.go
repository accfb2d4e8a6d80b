package figures

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"heddle/sim/study"
	"heddle/sim/study/measure"
)

// Run is a study that was run, whose results are a file of its name.
type Run struct {
	Name  string
	Study string
	Seeds string
	Set   []string // parameters, as name=value
}

// Command returns how a user runs it.
func (r *Run) Command() string {
	c := "heddle-lab sim study " + r.Study + " --seeds " + r.Seeds
	for _, x := range r.Set {
		c += " --set " + x
	}
	return c
}

// ref names figures of a table.
type ref struct {
	run, table, row string
	columns         []string
}

func of(run, table, row string, columns ...string) []ref {
	return []ref{{run, table, row, columns}}
}

// figure is a row of the page.
type figure struct {
	item   string    // figure or table, and which of its values
	text   string    // what the paper reports
	theirs []float64 // the same as numbers, in the order of ours; nil: it gives none that could be compared
	ours   []ref
	says   string // ours, where it isn't from a run: where it is instead, or why there is none
	why    string // what differs, and why
}

// part is the figures of a text.
type part struct {
	title string
	rows  []figure
}

// results are those of runs, by name.
type results map[string]*measure.Results

// read reads the results of all runs from a directory. A run without any is left out.
func read(dir string) (results, error) {
	all := results{}
	for _, r := range Runs {
		f, err := os.Open(filepath.Join(dir, r.Name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		x, err := measure.ReadResults(f)
		_ = f.Close() // it was only read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		all[r.Name] = x
	}
	return all, nil
}

// Make prints the page from the results in a directory. It first runs the studies that have none there, if it is told to.
func Make(w, progress io.Writer, dir string, run bool) error {
	if dir == "" {
		return errors.New("name the directory of the results: --json docs/studies/results")
	}
	for i := range Runs {
		r := &Runs[i]
		file := filepath.Join(dir, r.Name+".json")
		if _, err := os.Stat(file); !run || err == nil || r.Study == "" {
			continue
		}
		fmt.Fprintln(progress, r.Command())
		if err := r.make(file); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	return Write(w, dir)
}

// make runs a study, and writes its results.
func (r *Run) make(file string) error {
	seeds, err := measure.ParseSeeds(r.Seeds)
	if err != nil {
		return err
	}
	values, err := measure.ParseValues(r.Set)
	if err != nil {
		return err
	}
	s, err := study.Run(r.Study, study.Options{Seeds: seeds, Values: values})
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(s.WriteJSON(f), f.Close())
}

func runOf(name string) *Run {
	for i := range Runs {
		if Runs[i].Name == name {
			return &Runs[i]
		}
	}
	return nil
}

// Write writes the page, from the results in a directory.
func Write(w io.Writer, dir string) error {
	all, err := read(dir)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(head)
	for _, p := range parts() {
		fmt.Fprintf(&b, "\n## %s\n\n| figure | the text | ours | run | what differs, and why |\n|---|---|---|---|---|\n", p.title)
		for i := range p.rows {
			line, err := p.rows[i].line(all)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.title, p.rows[i].item, err)
			}
			b.WriteString(line)
		}
	}
	b.WriteString("\n## Runs\n\n| run | command |\n|---|---|\n")
	for i := range Runs {
		note := ""
		if all[Runs[i].Name] == nil {
			note = " (not run yet)"
		}
		fmt.Fprintf(&b, "| %s | `%s`%s |\n", Runs[i].Name, Runs[i].Command(), note)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// line returns a row of the page.
func (f *figure) line(all results) (string, error) {
	ours, run, verdict := f.says, "–", ""
	if f.ours != nil {
		var err error
		if ours, run, verdict, err = f.measured(all); err != nil {
			return "", err
		}
	}
	why := strings.TrimSpace(verdict + " " + f.why)
	if why == "" {
		why = "–"
	}
	for _, cell := range []string{f.item, f.text, ours, run, why} {
		if strings.TrimSpace(cell) == "" || strings.ContainsAny(cell, "|\n") {
			return "", fmt.Errorf("a cell is empty, or has a bar: %q", cell)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", f.item, f.text, ours, run, why), nil
}

// measured returns what runs have found, and how that compares with the text.
func (f *figure) measured(all results) (ours, run, verdict string, err error) {
	var cells []measure.Cell
	var runs []string
	for _, r := range f.ours {
		found := all[r.run]
		if runOf(r.run) == nil {
			return "", "", "", fmt.Errorf("there is no run %q", r.run)
		}
		if len(runs) == 0 || runs[len(runs)-1] != r.run {
			runs = append(runs, r.run)
		}
		if found == nil {
			return "not run", strings.Join(runs, ", "), "The machine was too busy for it: the command below makes it.", nil
		}
		for _, column := range r.columns {
			c, err := found.Cell(r.table, r.row, column)
			if err != nil {
				return "", "", "", err
			}
			cells = append(cells, c)
		}
	}
	texts := make([]string, len(cells))
	apart := 0
	for i, c := range cells {
		texts[i] = c.String()
		if f.theirs != nil && math.Abs(c.Mean-f.theirs[i]) > 2*math.Abs(c.Error) {
			apart++
		}
	}
	switch {
	case f.theirs == nil:
	case len(f.theirs) != len(cells):
		return "", "", "", fmt.Errorf("%d figures stand beside %d of the text", len(cells), len(f.theirs))
	case apart == 0:
		verdict = "Within two standard errors."
	case len(cells) == 1:
		verdict = "Differs by more than two standard errors."
	default:
		verdict = fmt.Sprintf("%d of %d differ by more than two standard errors.", apart, len(cells))
	}
	return strings.Join(texts, " / "), strings.Join(runs, ", "), verdict, nil
}

const head = `# The figures of the texts, beside ours

This page is made by ` + "`heddle-lab sim study all`" + ` from the results in [results](results); a test compares it with what that makes. Each row is a figure or table of one of the texts that
Heddle's techniques come from: what it reports, what Heddle's simulator finds, in the mean over seeds with the standard error of that mean, the run that found it, and what differs and
why. Each seed draws another workload, but for traces that are files: there the error is that of the scheduler's dice only. Changes are paired by seed. The scheduler, the nodes' queues, the
ApplicationMaster and the policies are the ones that run on a cluster; tasks are not. Figures that show how something works, or a picture of another system, say where Heddle has it.

The texts give most figures as pictures: where they name no number, there is none to compare with, and the row says what the picture shows. "−11.7/−19.0/−19.9" is P50, P75 and P90.
Hawk and Eagle are in none of these texts; the one on Dice and Eirene compares with them, and what Heddle has of them comes from their published simulator and papers.
`
