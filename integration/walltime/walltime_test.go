package walltime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Clusters take turns, nobody is always first, and times are those of the commands.
func TestRunInTurns(t *testing.T) {
	now := time.Unix(0, 0)
	var order []string
	cluster := func(name string, d time.Duration) Cluster {
		return Cluster{Name: name, Run: func(_ context.Context, command ...string) error {
			order = append(order, name+":"+strings.Join(command, " "))
			now = now.Add(d)
			return nil
		}}
	}
	prepared := 0
	o := Options{
		Clusters: []Cluster{cluster("a", time.Second), cluster("b", 4*time.Second)}, Runs: 3, Folder: "/x", now: func() time.Time { return now },
		Jobs: []Job{{Name: "j", Setup: func(context.Context, Cluster) error { prepared++; return nil }, Command: func(out string) []string { return []string{"do", out} }}},
	}
	r, err := Run(t.Context(), o)
	if err != nil || prepared != 1 {
		t.Fatalf("%v, prepared %d times", err, prepared)
	}
	if got := strings.Join(order, ", "); got != "a:do /x/j-a-0, b:do /x/j-b-0, b:do /x/j-b-1, a:do /x/j-a-1, a:do /x/j-a-2, b:do /x/j-b-2" {
		t.Error(got)
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "| job | a, s | b, s | b ÷ a |\n| --- | --- | --- | --- |\n") || !strings.Contains(b.String(), "| j | 1.0 (1.0–1.0) | 4.0 (4.0–4.0) | 4.00 |") {
		t.Errorf("%s, %v", &b, err)
	}

	// What warms up doesn't count, and long jobs don't.
	settled := 0
	o.Clusters[1].Settle = func(context.Context) error { settled++; return nil }
	o.WarmUp, o.Runs, order = 1, 1, nil
	o.Jobs = append(o.Jobs, Job{Name: "l", Long: true, Command: func(out string) []string { return []string{"long", out} }})
	if r, err = Run(t.Context(), o); err != nil || settled != 1 || len(r.Rows[0].Seconds["a"]) != 1 {
		t.Fatalf("%v, settled %d times, %+v", err, settled, r)
	}
	if got := strings.Join(order, ", "); got != "a:do /x/j-a-0, b:do /x/j-b-0, b:do /x/j-b-1, a:do /x/j-a-1, b:long /x/l-b-1, a:long /x/l-a-1" {
		t.Error(got)
	}
	o.WarmUp, o.Jobs = 0, o.Jobs[:1]
	broken := errors.New("broken")
	o.Clusters[1].Run = func(context.Context, ...string) error { return broken }
	if r, err := Run(t.Context(), o); !errors.Is(err, broken) || !strings.Contains(err.Error(), "j on b, run 1") || len(r.Rows[0].Seconds["a"]) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		times []float64
		want  float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := Median(c.times); got != c.want {
			t.Errorf("%v: %v", c.times, got)
		}
	}
}

func TestConfiguredCluster(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho $HADOOP_CONF_DIR $X $1 > "+dir+"/out\necho trouble >&2\nexit $2\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := Configured("x", "/etc/x", map[string]string{"hadoop": script}, "X=y")
	if err := c.Run(t.Context(), "hadoop", "jar", "0"); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(dir + "/out"); err != nil || string(b) != "/etc/x y jar\n" {
		t.Errorf("%q, %v", b, err)
	}
	if err := c.Run(t.Context(), "hadoop", "jar", "3"); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("%v", err)
	}
}

func TestJobsByName(t *testing.T) {
	all := Standard(Programs{Heddle: true, Examples: "e.jar"}, Sizes{1, 100}, "/bench", t.TempDir())
	jobs, err := Only(all, []string{"pi-2x10", "heddle-mr"})
	if err != nil || len(jobs) != 2 || jobs[0].Name != "pi-2x10" {
		t.Errorf("%+v, %v", jobs, err)
	}
	if _, err := Only(all, []string{"pi.py-client"}); err == nil || !strings.Contains(err.Error(), "terasort") {
		t.Errorf("%v", err)
	}
}
