package shorttasks

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed rival.py
var rivalProgram []byte

// rivals are the programs that Rivals measures, with the packages of PyPI that they come in.
var rivals = []struct {
	name     string
	packages []string
}{
	{"ray", []string{"ray"}},
	{"dask", []string{"dask", "distributed"}},
}

// Rival is what another program made of the same tasks: as many processes and slots, and jobs at the same times.
type Rival struct {
	Name, Version  string
	TasksPerSecond float64
	Jobs           int
	P50, P99       float64 // of a job, in ms
}

// Rivals measures Ray and Dask, one after the other. They are installed from PyPI into a temporary folder, which takes some minutes.
func Rivals(ctx context.Context, o Options) (all []Rival, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "heddle-rivals-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program := filepath.Join(dir, "rival.py")
	if err := os.WriteFile(program, rivalProgram, 0o600); err != nil {
		return nil, err
	}
	venv := filepath.Join(dir, "venv")
	if err := quietly(ctx, "python3", "-m", "venv", venv); err != nil {
		return nil, err
	}
	for _, r := range rivals {
		install := append([]string{"-m", "pip", "install", "-q", "--disable-pip-version-check"}, r.packages...)
		if err := quietly(ctx, filepath.Join(venv, "bin", "python3"), install...); err != nil {
			return all, fmt.Errorf("%s: %w", r.name, err)
		}
		got, err := rival(ctx, o, filepath.Join(venv, "bin", "python3"), program, r.name)
		if err != nil {
			return all, fmt.Errorf("%s: %w", r.name, err)
		}
		all = append(all, got)
	}
	return all, nil
}

// quietly runs a program, whose output shows in the error alone.
func quietly(ctx context.Context, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return nil
}

// rival measures one program.
func rival(ctx context.Context, o Options, python, program, name string) (Rival, error) {
	at := o.Short.arrivals(o.Nodes*o.Slots, o.Duration, o.Seed)
	seconds := make([]float64, len(at))
	for i, a := range at {
		seconds[i] = a.Seconds()
	}
	wish, err := json.Marshal(map[string]any{
		"processes": o.Nodes, "slots": o.Slots, "seconds": o.Duration.Seconds(), "tasks": o.Short.Tasks, "task": o.Short.Task.Seconds(), "arrivals": seconds,
	})
	if err != nil {
		return Rival{}, err
	}
	var out, fault bytes.Buffer
	c := exec.CommandContext(ctx, python, program, name, string(wish))
	c.Stdout, c.Stderr = &out, &fault
	if err := c.Run(); err != nil {
		return Rival{}, fmt.Errorf("%w\n%s", err, fault.Bytes())
	}
	return readRival(name, out.Bytes())
}

// readRival reads what rival.py prints: the last line is its report, as other packages may print lines as well.
func readRival(name string, out []byte) (Rival, error) {
	var said struct {
		Version        string
		TasksPerSecond float64
		Took           []float64 // ms
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if err := json.Unmarshal(lines[len(lines)-1], &said); err != nil {
		return Rival{}, fmt.Errorf("its report is %.200q: %w", lines[len(lines)-1], err)
	}
	if len(said.Took) == 0 {
		return Rival{}, errors.New("it has run no jobs: let it take longer (--duration)")
	}
	took := make([]time.Duration, len(said.Took))
	for i, ms := range said.Took {
		took[i] = time.Duration(ms * float64(time.Millisecond))
	}
	r := Rival{Name: name, Version: said.Version, TasksPerSecond: said.TasksPerSecond, Jobs: len(took)}
	r.P50, r.P99 = quantiles(took)
	return r, nil
}
