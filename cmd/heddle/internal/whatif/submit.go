package whatif

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/sim"
	"heddle/sim/trace"
	"heddle/sim/whatif"
	"heddle/sim/whatif/change"
	"heddle/sim/whatif/forecast"
	"heddle/sim/whatif/load"
	"heddle/yarn/records"
)

const usageOfSubmit = "say when a job would start that is submitted now, or where the record ends, and who would be preempted for it: a file as of -add, or " +
	"queue=root.prod,user=ann,containers=20,memory=2048,vcores=1,seconds=60"

// submit answers -submit. Without a record it asks the leading ResourceManager for its own.
func (o *flags) submit(ctx context.Context, out io.Writer) error {
	job, err := o.job()
	if err != nil {
		return err
	}
	at := int64(0)
	path := o.record
	if path == "" {
		file, err := o.download(ctx)
		if err != nil {
			return fmt.Errorf("read the leader's record: %w", err)
		}
		defer os.Remove(file)
		path, at = file, time.Now().UnixMilli()
	}
	l, err := load.Open(path, load.Options{Gaps: o.gaps})
	if err != nil {
		return err
	}
	if at > 0 { // what was recorded last is younger than that only where this machine's clock is late
		at = max(at, l.End)
	}
	graded, err := o.graded(path, l)
	if err != nil {
		return err
	}
	a, err := forecast.Submit(l, *job, forecast.Options{At: at, Wider: forecast.Widen(graded)})
	if err != nil {
		return err
	}
	if o.json {
		e := json.NewEncoder(out)
		e.SetIndent("", " ")
		return e.Encode(struct {
			*forecast.Answer
			Graded []forecast.Graded `json:"graded"`
		}{a, graded})
	}
	return errors.Join(writeForecast(out, a, l), writeGrades(out, graded))
}

// maxGrading bounds the lines that are read to grade forecasts.
const maxGrading = 20_000_000

// graded are forecasts of submissions in the record, beside what happened.
func (o *flags) graded(path string, l *load.Load) ([]forecast.Graded, error) {
	n := min(o.grade, int(maxGrading/max(l.Entries, 1)))
	return forecast.Grade(path, l, forecast.Candidates(l, n), load.Options{Gaps: o.gaps}, forecast.Options{Runs: 20})
}

func writeGrades(w io.Writer, graded []forecast.Graded) error {
	if len(graded) == 0 {
		_, err := fmt.Fprintln(w, "how good such answers are isn't known: the record has no submissions to compare them with, or is too long for that (-grade)")
		return err
	}
	median, inside := forecast.Summary(graded)
	_, err := fmt.Fprintf(w, "of %d submissions of the record, forecast from what was recorded before them, the start was off by %.1f s in the median; %d were within bounds that weren't widened, and these are by a factor of %.2f\n",
		len(graded), median, inside, forecast.Widen(graded))
	return err
}

// download copies the newest part of the leader's record to a file of its own.
func (o *flags) download(ctx context.Context) (name string, err error) {
	c, err := o.load(o.conf, o.define)
	if err != nil {
		return "", err
	}
	cl, err := cluster.New(c)
	if err != nil {
		return "", err
	}
	defer cl.Close()
	body, err := cl.Get(ctx, "/ws/v1/heddle/record/events", url.Values{"max-mb": {"256"}})
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "heddle-what-if-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, bytes.NewReader(body))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// job reads the job of -submit: the first one of a file, or one in words.
func (o *flags) job() (*load.App, error) {
	var err error
	if o.trace.AM, err = amount("add-am", o.addAM); err != nil {
		return nil, err
	}
	if o.trace.Slot, err = amount("add-slot", o.slot); err != nil {
		return nil, err
	}
	var jobs []sim.Job
	if strings.Contains(o.submitted, "=") {
		var job sim.Job
		job, err = inWords(o.submitted, o.trace.AM)
		jobs = []sim.Job{job}
	} else {
		o.trace.BlockMB, o.trace.RateMB = 128, 10
		jobs, err = trace.Open(o.submitted, o.trace)
	}
	if err != nil {
		return nil, fmt.Errorf("-submit: %w", err)
	}
	if len(jobs) != 1 {
		return nil, fmt.Errorf("-submit %s: it has %d jobs: give a file with one", o.submitted, len(jobs))
	}
	return &change.Apps(jobs, 0)[0], nil
}

// Bounds of a job in words.
const (
	maxContainers = 1_000_000
	maxAmount     = 1 << 40
	maxSeconds    = 1e9
)

// inWords reads KEY=VALUE,KEY=VALUE.
func inWords(text string, master records.Resource) (sim.Job, error) {
	job := sim.Job{Name: "job", Queue: "root.default", User: "user", AM: master}
	numbers := map[string]float64{"containers": 1, "memory": 1024, "vcores": 1, "seconds": 60}
	limits := map[string]float64{"containers": maxContainers, "memory": maxAmount, "vcores": maxAmount, "seconds": maxSeconds}
	for _, part := range strings.Split(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		if key = strings.TrimSpace(key); key == "queue" || key == "user" || key == "label" {
			if value == "" {
				return job, fmt.Errorf("%s: give a name", part)
			}
			*map[string]*string{"queue": &job.Queue, "user": &job.User, "label": &job.Label}[key] = value
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if _, known := numbers[key]; !known || err != nil || !(v >= 0 && v <= limits[key]) || key != "seconds" && v != float64(int64(v)) {
			return job, fmt.Errorf("%q: give queue=NAME, user=NAME, label=NAME, containers=N, memory=MB, vcores=N and seconds=N, with commas between them", part)
		}
		numbers[key] = v
	}
	stage := sim.Stage{Priority: 1, Resource: records.NewResource(int64(numbers["memory"]), int64(numbers["vcores"]))}
	for range int(numbers["containers"]) {
		stage.Tasks = append(stage.Tasks, sim.Task{Duration: sim.Time(numbers["seconds"] * float64(time.Second))})
	}
	job.Stages = []sim.Stage{stage}
	return job, nil
}

// maxNamed bounds the applications that a table names.
const maxNamed = 20

// writeForecast prints an answer.
func writeForecast(w io.Writer, a *forecast.Answer, l *load.Load) error {
	fmt.Fprintf(w, "submitted to %s by %s at %s, beside %d applications:\n", whatif.Clean(a.Queue), whatif.Clean(a.User), time.UnixMilli(a.At).UTC().Format("2006-01-02T15:04:05Z"), a.Apps)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, x := range []struct {
		what string
		b    forecast.Bounds
	}{{"starts", a.Start}, {"ends", a.End}} {
		fmt.Fprintf(t, "  %s\tafter %s\tnine of ten times after %s to %s\n", x.what, span(x.b.Median), span(x.b.Low), span(x.b.High))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(a.Preempted) == 0 {
		fmt.Fprintln(w, "no application is likely to lose containers to it")
	}
	for _, x := range a.Preempted[:min(len(a.Preempted), maxNamed)] {
		if x.ID == "" {
			fmt.Fprintf(w, "applications that are submitted later lose %.1f containers to it in %.0f %% of all plays\n", x.Containers, 100*x.Part)
			continue
		}
		fmt.Fprintf(w, "%s of %s in %s loses %.1f containers to it in %.0f %% of all plays\n", whatif.Clean(x.ID), whatif.Clean(x.User), whatif.Clean(x.Queue), x.Containers, 100*x.Part)
	}
	if more := len(a.Preempted) - maxNamed; more > 0 {
		fmt.Fprintf(w, "%d more applications: --json has all\n", more)
	}
	_, err := fmt.Fprintf(w, "from %d plays with what the record of %.0f minutes tells of how long containers run, and of what is submitted\n", a.Runs, float64(l.End-l.Begin)/60_000)
	return err
}

func span(s float64) string {
	if s < 0 {
		return "a time beyond what was played"
	}
	return fmt.Sprintf("%.1f s", s)
}
