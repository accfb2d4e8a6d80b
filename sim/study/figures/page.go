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

// part is the figures of a paper.
type part struct {
	title string
	page  string // in docs/studies, which says what holds
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
	page, err := Page(dir)
	if err == nil {
		_, err = io.WriteString(w, page)
	}
	return err
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

// Page makes docs/studies/README.md from the results in a directory: how many figures of each paper agree, what holds, and every figure.
func Page(dir string) (string, error) {
	all, err := read(dir)
	if err != nil {
		return "", err
	}
	var page, rows strings.Builder
	page.WriteString(head)
	for _, p := range parts() {
		found := map[verdict]int{}
		fmt.Fprintf(&rows, "\n## %s\n\n| figure | the paper | ours | run | what differs, and why |\n|---|---|---|---|---|\n", p.title)
		for i := range p.rows {
			line, v, err := p.rows[i].line(all)
			if err != nil {
				return "", fmt.Errorf("%s, %s: %w", p.title, p.rows[i].item, err)
			}
			found[v]++
			rows.WriteString(line)
		}
		fmt.Fprintf(&page, "| [%s](%s) | %d | %d | %d | %d | %d |\n", p.title, p.page, len(p.rows),
			found[within], found[partly], found[apart], found[notCompared])
	}
	page.WriteString(middle)
	page.WriteString(rows.String())
	page.WriteString("\n## Runs\n\n| run | command |\n|---|---|\n")
	for i := range Runs {
		note := ""
		if all[Runs[i].Name] == nil {
			note = " (not run yet)"
		}
		fmt.Fprintf(&page, "| %s | `%s`%s |\n", Runs[i].Name, Runs[i].Command(), note)
	}
	return page.String(), nil
}

// verdict says how ours compares with the paper's.
type verdict string

const (
	notCompared verdict = "" // the paper gives no number, or nothing was run
	within      verdict = "Within two standard errors."
	partly      verdict = "%d of %d differ by more than two standard errors."
	apart       verdict = "Differs by more than two standard errors."
)

// line returns a row of the page.
func (f *figure) line(all results) (string, verdict, error) {
	ours, run, why, v := f.says, "–", "", notCompared
	if f.ours != nil {
		var err error
		if ours, run, why, v, err = f.measured(all); err != nil {
			return "", "", err
		}
	}
	why = strings.TrimSpace(why + " " + f.why)
	if why == "" {
		why = "–"
	}
	cells := []string{f.item, f.text, ours, run, why}
	for _, cell := range cells {
		if strings.TrimSpace(cell) == "" || strings.ContainsAny(cell, "|\n") {
			return "", "", fmt.Errorf("a cell is empty, or has a bar: %q", cell)
		}
	}
	return "| " + strings.Join(cells, " | ") + " |\n", v, nil
}

// measured returns what runs have found, and how that compares with the paper.
func (f *figure) measured(all results) (ours, run, says string, v verdict, err error) {
	var cells []measure.Cell
	var runs []string
	for _, r := range f.ours {
		found := all[r.run]
		if runOf(r.run) == nil {
			return "", "", "", "", fmt.Errorf("there is no run %q", r.run)
		}
		if len(runs) == 0 || runs[len(runs)-1] != r.run {
			runs = append(runs, r.run)
		}
		if found == nil {
			return "not run", strings.Join(runs, ", "), "The machine was too busy for it: the command makes it.", notCompared, nil
		}
		for _, column := range r.columns {
			c, err := found.Cell(r.table, r.row, column)
			if err != nil {
				return "", "", "", "", err
			}
			cells = append(cells, c)
		}
	}
	texts := make([]string, len(cells))
	far := 0
	for i, c := range cells {
		texts[i] = c.String()
		if f.theirs != nil && i < len(f.theirs) && math.Abs(c.Mean-f.theirs[i]) > 2*math.Abs(c.Error) {
			far++
		}
	}
	if f.theirs != nil && len(f.theirs) != len(cells) {
		return "", "", "", "", fmt.Errorf("%d figures stand beside %d of the paper", len(cells), len(f.theirs))
	}
	if f.theirs != nil {
		says, v = compared(far, len(cells))
	}
	return strings.Join(texts, " / "), strings.Join(runs, ", "), says, v, nil
}

// compared returns the verdict on some figures, of which some are far from the paper's, in words and by its kind.
func compared(far, all int) (string, verdict) {
	switch {
	case far == 0:
		return string(within), within
	case all == 1:
		return string(apart), apart
	case far == all:
		return fmt.Sprintf(string(partly), far, all), apart
	}
	return fmt.Sprintf(string(partly), far, all), partly
}

const head = `# The papers' figures, beside ours

A page for each technique says what holds and what doesn't. Below is every figure and table of the papers: what the paper reports, what Heddle's simulator finds (the mean over twenty seeds, with its standard error), the run that found it, and what differs and why.
[Runs](#runs) has the commands, [results](results) what they found. ` + "`heddle-lab sim study all`" + ` makes this page of these; a test compares.

| paper | figures | within two standard errors | some of a row differ by more | all differ by more | without numbers to compare |
|---|---|---|---|---|---|
`

const middle = `
Each seed draws another workload, but for traces that are files: there the error is that of the scheduler's dice only, so small differences count. Changes are paired by seed. The scheduler, the nodes' queues, the ApplicationMaster and the policies are the ones that run on a cluster; tasks are not. The papers give most
figures as pictures without numbers.

**What holds**: the direction of most changes. **What doesn't**: most sizes; suspension beside kill, and Hopper beside SRPT whose copies come with their job (their pages say why). The papers leave open durations, memory or loads on which they depend; nothing was fitted. The traces here are slices with other loads, which was tested as the cause where rows say so.

## On real processes

| page | what it measures |
|---|---|
| [live](live.md) | copies, starts of reduces and stage policies on real daemons |
| [short tasks](short-tasks.md) | latency and throughput of probes and pools; Ray and Dask |
| [suspension](suspension.md#on-real-processes) | preemption, paging and breaths |
| [preloading](staging.md) | inputs in memory, of short tasks and MapReduce |
| [the slowest percent](../decisions/grants-over-the-wire.md), [mutants](mutants.md) | what grants wait for; what tests notice |
| [Hawk](hawk.md), [Eagle](eagle.md) | with which the paper on Dice and Eirene compares |
`
