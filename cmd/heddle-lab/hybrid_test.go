package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lab runs a command of this program.
func lab(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestAStudyThatThereIsNotNamesTheOthers(t *testing.T) {
	if _, err := lab(t, "sim", "study", "nothing"); err == nil || !strings.Contains(err.Error(), "omo, sparrow, suspension") {
		t.Errorf("%v", err)
	}
}

// TestSimulateProbes: flags have one dash or two, the report is JSON, and what is wrong is named.
func TestSimulateProbes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "small.tr")
	if err := os.WriteFile(file, []byte("0 2 10 10 10\n5 1 200.9 200.9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := lab(t, "sim", "hybrid", "-trace", file, "-mode=hawk", "-workers", "20", "-cutoff", "90.5", "-short-partition", "10", "-seed", "7", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Partition int `json:"short_partition_workers"`
		Short     struct {
			Jobs       int
			Completion struct{ P50 float64 }
		}
		Long struct {
			Completion struct{ Mean float64 }
		}
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r.Partition != 2 || r.Short.Jobs != 1 || r.Short.Completion.P50 != 10.0015 || r.Long.Completion.Mean != 200.0015 {
		t.Errorf("%s", out)
	}
	if out, err := lab(t, "sim", "hybrid", "-trace", file, "-durations", "exact", "-cutoff", "1m"); err != nil || !strings.Contains(out, "200.901") {
		t.Errorf("%v: %s", err, out)
	}
	// A cutoff above all durations has all jobs be short.
	if out, err := lab(t, "sim", "hybrid", "-trace", file, "-cutoff", "1e12", "--json"); err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Short.Jobs != 2 {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := lab(t, "sim", "hybrid", "-help"); err != nil || !strings.Contains(out, "-short-partition") {
		t.Errorf("the help: %v: %s", err, out)
	}
	for want, args := range map[string][]string{
		"did you mean --workers?": {"-wrkers", "3"},
		"-trace FILE":             {},
		"unknown flag":            {"--tracks", file},
		"no mode":                 {"-trace", file, "-mode", "falcon"},
		"no model of Dice":        {"-trace", file, "-dice", "cubic"},
		"-dice-preemption":        {"-trace", file, "-dice", "root", "-dice-preemption", "cubic"},
		"sparrow has no short":    {"-trace", file, "-dice", "root", "-mode", "sparrow"},
		"-durations short":        {"-trace", file, "-durations", "short"},
		"number of seconds":       {"-trace", file, "-cutoff", "soon"},
		"\"NaN\" is not a number": {"-trace", file, "-cutoff", "NaN"},
		"the argument":            {"-trace", file, "yes"},
		"one at least":            {"-trace", file, "-workers", "0"},
		"1000000 at most":         {"-trace", file, "-workers", "100000000000"},
		"give 0 or more":          {"-trace", file, "-short-partition", "-1"},
		"grow to NaN percent":     {"-trace", file, "-dice", "root", "-dice-most", "NaN"},
		"grow to -3 percent":      {"-trace", file, "-dice", "root", "-dice-most", "-3"},
		"-dice-most and -dice":    {"-trace", file, "-dice-most", "20"},
		"-dice-preemption have":   {"-trace", file, "-dice-preemption", "root"},
		"finite":                  {"-trace", file, "-format", "swim", "-rate", "Inf"},
		"no such file":            {"-trace", file + "x"},
		"has no jobs":             {"-trace", os.DevNull, "-format", "hawk"},
		"long work needs some":    {"-trace", file, "-short-partition", "100"},
	} {
		if _, err := lab(t, append([]string{"sim", "hybrid"}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
