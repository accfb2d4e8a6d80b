package walltime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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
	if got := strings.Join(order, ", "); got != "a:do /x/j-1-0-0, b:do /x/j-2-0-0, b:do /x/j-2-1-0, a:do /x/j-1-1-0, a:do /x/j-1-2-0, b:do /x/j-2-2-0" {
		t.Error(got)
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "| job | a, s | b, s | b ÷ a |\n| --- | --- | --- | --- |\n") || !strings.Contains(b.String(), "| j | 1.0 (1.0–1.0, n=3) | 4.0 (4.0–4.0, n=3) | 4.00 |") {
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
	if got := strings.Join(order, ", "); got != "a:do /x/j-1-0-0, b:do /x/j-2-0-0, b:do /x/j-2-1-0, a:do /x/j-1-1-0, b:long /x/l-2-1-0, b:hdfs dfs -rm -r -f -skipTrash /x/l-2-1-0, a:long /x/l-1-1-0, a:hdfs dfs -rm -r -f -skipTrash /x/l-1-1-0" {
		t.Error(got)
	}
}

// clock is a cluster's whose jobs take the time that they are told to.
type clock struct {
	now time.Time
	ran []string
}

func (c *clock) cluster(name string, took func(job string) (time.Duration, error)) Cluster {
	return Cluster{Name: name, Run: func(ctx context.Context, command ...string) error {
		d, err := took(command[0])
		c.now = c.now.Add(d)
		c.ran = append(c.ran, name+":"+command[0])
		return errors.Join(err, ctx.Err())
	}}
}

func (c *clock) options(jobs ...string) Options {
	o := Options{Folder: "/x", now: func() time.Time { return c.now }}
	for _, j := range jobs {
		o.Jobs = append(o.Jobs, Job{Name: j, Usual: time.Minute, Command: func(string) []string { return []string{j} }})
	}
	return o
}

// A run that fails is repeated; one that fails twice is named and spares the others.
func TestFailures(t *testing.T) {
	c := &clock{}
	o := c.options("good", "flaky", "bad")
	tries, cleared, kept := 0, 0, 0
	o.Clusters = []Cluster{c.cluster("a", func(string) (time.Duration, error) { return time.Second, nil }), c.cluster("b", func(job string) (time.Duration, error) {
		if tries++; job == "bad" || job == "flaky" && tries%2 == 0 {
			return time.Second, errors.New("broken\nin detail")
		}
		return time.Second, nil
	})}
	o.Clusters[1].Clear = func(context.Context) error { cleared++; return nil }
	o.Runs, o.Keep = 1, func(Report) error { kept++; return nil }
	r, err := Run(t.Context(), o)
	if err != nil || cleared != 3 || kept != 6 || len(r.Rows[1].Seconds["b"]) != 1 || len(r.Rows[2].Seconds["a"]) != 1 {
		t.Errorf("%v, cleared %d times, kept %d, %+v", err, cleared, kept, r)
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil || !strings.Contains(b.String(), "| bad | 1.0 (1.0–1.0, n=1) | – | – |") || !strings.HasSuffix(b.String(), "\n- bad on b, run 1: broken\n") {
		t.Errorf("%s, %v", &b, err)
	}

	// What can't be prepared is left out, and who interrupts gets what there is.
	o.Jobs[0].Setup = func(context.Context, Cluster) error { return errors.New("no disk") }
	ctx, cancel := context.WithCancel(t.Context())
	o.Clusters[1] = c.cluster("b", func(string) (time.Duration, error) { cancel(); return 0, nil })
	if r, err = Run(ctx, o); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "flaky on b, run 1") || len(r.Rows[1].Seconds["a"]) != 1 || r.Rows[0].Failed["a"][0] != "preparing: no disk" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A run that takes too long has failed.
func TestLimit(t *testing.T) {
	c := &clock{}
	o := c.options("slow")
	o.Clusters = []Cluster{{Name: "a", Run: func(ctx context.Context, _ ...string) error { <-ctx.Done(); return ctx.Err() }}}
	o.Runs, o.Limit = 1, time.Millisecond
	if r, err := Run(t.Context(), o); err != nil || len(r.Rows[0].Failed["a"]) != 1 || !strings.Contains(r.Rows[0].Failed["a"][0], "longer than 1ms") {
		t.Errorf("%+v, %v", r, err)
	}
}

// What doesn't fit into the time is left out, the last job's runs first, and all is told in advance.
func TestBudget(t *testing.T) {
	for budget, want := range map[time.Duration]string{
		0:                "a:x a:y a:x a:y a:x a:y",
		12 * time.Minute: "a:x a:y a:x a:y a:x a:y", // x takes 1, y 3
		10 * time.Minute: "a:x a:y a:x a:y a:x",
		4 * time.Minute:  "a:x a:x a:x", // y is expected to take 1 first, but x comes first
		3 * time.Minute:  "a:x a:x a:x",
		1 * time.Minute:  "a:x",
		1:                "",
	} {
		c := &clock{}
		o := c.options("x", "y")
		var told []string
		o.Clusters = []Cluster{c.cluster("a", func(job string) (time.Duration, error) {
			return map[string]time.Duration{"x": time.Minute, "y": 3 * time.Minute}[job], nil
		})}
		o.Jobs[1].Usual = 3 * time.Minute
		o.Runs, o.Budget, o.Tell = 3, budget, func(text string) { told = append(told, text) }
		if _, err := Run(t.Context(), o); err != nil {
			t.Error(err)
		}
		if got := strings.Join(c.ran, " "); got != want {
			t.Errorf("%s: %s, want %s", budget, got, want)
		}
		if !strings.HasSuffix(told[0], "about 12.0 min") {
			t.Errorf("%q", told)
		}
	}
}

// Applications whose client is gone are killed through a ResourceManager's REST interface.
func TestEndApplications(t *testing.T) {
	var got []string
	rm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"apps":{"app":[{"id":"application_1_0001"},{"id":"application_1_0002"}]}}`)
		} else {
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer rm.Close()
	if err := endApplications(t.Context(), rm.URL); err != nil {
		t.Error(err)
	}
	want := "GET /ws/v1/cluster/apps, PUT /ws/v1/cluster/apps/application_1_0001/state {\"state\":\"KILLED\"}, PUT /ws/v1/cluster/apps/application_1_0002/state {\"state\":\"KILLED\"}"
	if s := strings.Join(got, ", "); s != want {
		t.Error(s)
	}
	none := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"apps":null}`) }))
	defer none.Close()
	if err := endApplications(t.Context(), none.URL); err != nil {
		t.Error(err)
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
