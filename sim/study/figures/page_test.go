package figures

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/sim/study"
	"heddle/sim/study/measure"
)

const dir = "../../../docs/studies"

// The page is what the results make, no row has an empty cell, and each paper has its rows.
func TestPageIsWhatTheResultsMake(t *testing.T) {
	want, err := Page(filepath.Join(dir, "results"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/studies/README.md isn't what the results make: heddle-lab sim study all --json docs/studies/results > docs/studies/README.md")
	}
	rows := 0
	for line := range strings.Lines(want) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 {
			continue
		}
		rows++
		if slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) == "" }) {
			t.Errorf("a cell is empty: %s", line)
		}
	}
	if rows < 120 {
		t.Errorf("there are %d rows", rows)
	}
}

// Each run is of a study, with seeds and parameters that it has, and each file of results belongs to one.
func TestRunsAreOfStudies(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Runs {
		if names[r.Name] {
			t.Errorf("two runs are called %s", r.Name)
		}
		names[r.Name] = true
		if _, err := measure.ParseSeeds(r.Seeds); err != nil {
			t.Error(err)
		}
		values, err := measure.ParseValues(r.Set)
		if err != nil {
			t.Error(err)
		}
		o := measure.Options{Values: values}
		if err := o.Check(r.Study, study.ParametersOf(r.Study)); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if !names[strings.TrimSuffix(filepath.Base(f), ".json")] {
			t.Errorf("%s belongs to no run", f)
		}
	}
}

// A row that names what isn't there, or leaves something out, is an error.
func TestRowsAreWhole(t *testing.T) {
	table := measure.Table{Key: "t", Columns: []string{"x", "y"}}
	table.Add("a", measure.Sample{1, 2, 3}.Cell(1))
	all := results{"esplash": {Tables: []measure.Table{table}}}
	good := figure{item: "1", text: "2", theirs: []float64{2}, ours: of("esplash", "t", "a", "y")}
	if line, v, err := good.line(all); err != nil || v != within || line != "| 1 | 2 | 2.0 ± 0.6 | esplash | Within two standard errors. |\n" {
		t.Errorf("%s, %s, %v", line, v, err)
	}
	far := good
	far.theirs = []float64{9}
	if line, v, _ := far.line(all); v != apart || !strings.Contains(line, "Differs by more than two") {
		t.Errorf("%s, %s", line, v)
	}
	both := figure{item: "1", text: "2", theirs: []float64{2, 9}, ours: of("esplash", "t", "a", "y", "y")}
	if line, v, _ := both.line(all); v != partly || !strings.Contains(line, "1 of 2 differ") {
		t.Errorf("%s, %s", line, v)
	}
	for _, bad := range []figure{
		{item: "1", text: "2"},
		{item: "1", text: "", says: "3"},
		{item: "1", text: "a|b", says: "3"},
		{item: "1", text: "2", ours: of("esplash", "t", "b", "y")},
		{item: "1", text: "2", ours: of("nothing", "t", "a", "y")},
		{item: "1", text: "2", theirs: []float64{1, 2}, ours: of("esplash", "t", "a", "y")},
	} {
		if line, _, err := bad.line(all); err == nil {
			t.Errorf("%+v: %s", bad, line)
		}
	}
	missing := figure{item: "1", text: "2", ours: of("omo", "t", "a", "y")}
	if line, v, err := missing.line(all); err != nil || v != notCompared || !strings.Contains(line, "not run") {
		t.Errorf("%s, %v", line, err)
	}
}
