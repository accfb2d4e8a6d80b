package hybrid

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"heddle/sim"
)

// Figures are percentiles and the mean of times, in seconds. Between two samples a percentile is interpolated linearly.
type Figures struct {
	P50  float64 `json:"p50"`
	P75  float64 `json:"p75"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	Mean float64 `json:"mean"`
}

// Class is the results of the short jobs, or of the long ones.
type Class struct {
	Jobs       int     `json:"jobs"`
	Tasks      int     `json:"tasks"`
	AtOnce     float64 `json:"at_once"`    // part of the jobs of which all tasks had a slot as soon as probes came
	Completion Figures `json:"completion"` // of jobs: from the submission to the end of the last task
	Peak       float64 `json:"wait_peak"`  // seconds: the longest mean wait of the tasks that got a slot in the same minute
	Ratio      float64 `json:"ratio_most"` // the largest completion time of a job, as a multiple of its tasks' mean duration
	Wait       Figures `json:"wait"`       // of tasks: from the submission of their stage, which follows the end of the stage before, until a slot was taken
}

// Utilisation is the share of slots that are taken, in percent, from samples every 5 s.
type Utilisation struct {
	Mean        float64 `json:"mean"`         // from the first arrival to the last
	Dense       float64 `json:"dense"`        // from the arrival of the job that follows the hundredth part of all, to the last arrival
	DenseMedian float64 `json:"dense_median"` // the same
	Warm        float64 `json:"warm"`         // from the arrival of the job after the tenth part of all to the last arrival; no samples, but all of the time
}

// Report is the result of a simulation.
type Report struct {
	Mode        string        `json:"mode"`
	Workers     int           `json:"workers"`
	Short       float64       `json:"short_partition_percent"`
	Partition   int           `json:"short_partition_workers"`
	Cutoff      float64       `json:"cutoff_seconds"`
	Cut         string        `json:"cut"`
	Seed        uint64        `json:"seed"`
	Jobs        int           `json:"jobs"`
	Tasks       int           `json:"tasks"`
	ShortJobs   Class         `json:"short"`
	LongJobs    Class         `json:"long"`
	Utilisation Utilisation   `json:"utilisation"`
	End         float64       `json:"last_completion_seconds"` // from the first arrival
	Dice        *DiceReport   `json:"dice,omitempty"`
	Eirene      *EireneReport `json:"eirene,omitempty"`
}

// DiceReport is what Dice did.
type DiceReport struct {
	Windows     int     `json:"windows"`
	Closed      float64 `json:"closed_mean"` // workers of the general partition that were closed to new long tasks, in the mean of the windows
	Suspensions int     `json:"suspensions"` // of long tasks
}

// EireneReport is what Eirene did.
type EireneReport struct {
	Copies int `json:"copies"` // of inputs to RAM disks
	Hits   int `json:"hits"`   // short tasks that read their input from there
	Clones int `json:"clones"`
	Won    int `json:"clones_first"` // clones that ended before their originals
}

// metrics collects what a report says.
type metrics struct {
	waits  [2][]sim.Time // of tasks of short and of long jobs
	usage  []samples     // slots taken, every 5 s
	minute [2]minute     // by class

	area  float64  // slots taken, times ns, after warm
	since sim.Time // when that was counted last
	warm  sim.Time // the arrival of the job after the tenth part of all
	busy  float64

	windows, closed, suspensions int // of Dice
	eirene                       EireneReport
}

func (m *metrics) begin(c *cluster) {
	var n [2]int
	for i := range c.records {
		for _, durations := range c.records[i].stages {
			n[index(c.records[i].long)] += len(durations)
		}
	}
	m.waits = [2][]sim.Time{make([]sim.Time, 0, n[0]), make([]sim.Time, 0, n[1])}
}

func index(long bool) int {
	if long {
		return 1
	}
	return 0
}

// samples is so many samples in a row of as many taken slots. Between jobs that are years apart there are hundreds of millions.
type samples struct{ busy, times int }

func (m *metrics) sample(busy, times int) {
	if n := len(m.usage); n > 0 && m.usage[n-1].busy == busy {
		m.usage[n-1].times += times
		return
	}
	m.usage = append(m.usage, samples{busy, times})
}

// between returns the samples from a number on, below another one.
func (m *metrics) between(from, to int) (all []samples, times int) {
	at := 0
	for _, l := range m.usage {
		first, end := max(at, from), min(at+l.times, to)
		if at += l.times; first < end {
			all, times = append(all, samples{l.busy, end - first}), times+end-first
		}
	}
	return all, times
}

// minute is the waits of tasks that got a slot in the same minute.
type minute struct {
	ends sim.Time
	sum  float64
	n    float64
	peak float64 // the longest mean of any minute before
}

// add counts a wait in a minute.
func (x *minute) add(now, waited sim.Time) {
	if now >= x.ends {
		x.peak = x.longest()
		x.ends, x.sum, x.n = now-now%sim.Time(time.Minute)+sim.Time(time.Minute), 0, 0
	}
	x.sum, x.n = x.sum+float64(waited), x.n+1
}

// longest returns the longest mean of any minute until now.
func (x *minute) longest() float64 {
	if x.n == 0 {
		return x.peak
	}
	return max(x.peak, x.sum/x.n)
}

func (m *metrics) begun(now sim.Time, long bool, waited sim.Time) {
	m.waits[index(long)] = append(m.waits[index(long)], waited)
	m.minute[index(long)].add(now, waited)
}

func (m *metrics) report(c *cluster) *Report {
	r := &Report{
		Mode: c.Mode, Workers: c.Workers, Short: c.Short, Partition: c.general, Cutoff: c.Cutoff.Seconds(), Cut: "whole seconds", Seed: c.Seed,
		Jobs: len(c.records),
	}
	if c.Exact {
		r.Cut = "exact"
	}
	if c.Eirene != nil {
		r.Eirene = &m.eirene
	}
	var times [2][]sim.Time
	var warm, atOnce [2]int
	var ratios [2]float64
	var end sim.Time
	for i := range c.records {
		x := &c.records[i]
		if x.end >= 0 {
			if i >= c.warmUp(len(c.records)) {
				warm[index(x.long)]++
				if !x.waited {
					atOnce[index(x.long)]++
				}
			}
			end = max(end, x.end)
			if i < c.WarmUp {
				continue
			}
			times[index(x.long)] = append(times[index(x.long)], x.end-x.submit)
			if x.estimate > 0 {
				ratios[index(x.long)] = max(ratios[index(x.long)], float64(x.end-x.submit)/float64(x.estimate))
			}
		}
	}
	r.End = end.Seconds()
	if c.Dice != nil {
		r.Dice = &DiceReport{Windows: m.windows, Closed: round(float64(m.closed) / float64(max(1, m.windows))), Suspensions: m.suspensions}
	}
	for i, class := range []*Class{&r.ShortJobs, &r.LongJobs} {
		class.Jobs, class.Tasks = len(times[i]), len(m.waits[i])
		class.Peak, class.Ratio = round(m.minute[i].longest()/1e9), round(ratios[i])
		class.AtOnce = round(float64(atOnce[i]) / float64(max(1, warm[i])))
		class.Completion, class.Wait = figures(times[i]), figures(m.waits[i])
		r.Tasks += class.Tasks
	}
	if n := len(c.records); n > 0 {
		from, to := c.records[n/100].submit, c.records[n-1].submit
		r.Utilisation.Mean, _ = m.use(0, to, c.slots())
		r.Utilisation.Warm = round(100 * m.busy)
		r.Utilisation.Dense, r.Utilisation.DenseMedian = m.use(from, to, c.slots())
	}
	return r
}

// use returns the mean and median share of taken slots between two times, in percent.
func (m *metrics) use(from, to sim.Time, slots int) (mean, median float64) {
	all, k := m.between(int((from+sampling-1)/sampling), int(to/sampling)+1)
	if k == 0 {
		return 0, 0
	}
	slices.SortFunc(all, func(a, b samples) int { return a.busy - b.busy })
	sum, middle, at := 0, 0, 0 // middle is of the two samples in the middle, which may be one
	for _, l := range all {
		sum += l.busy * l.times
		for _, place := range [...]int{(k - 1) / 2, k / 2} {
			if place >= at && place < at+l.times {
				middle += l.busy
			}
		}
		at += l.times
	}
	of := 100 / float64(slots)
	return round(float64(sum) / float64(k) * of), round(float64(middle) / 2 * of)
}

// figures sorts times and describes them.
func figures(times []sim.Time) (f Figures) {
	if len(times) == 0 {
		return f
	}
	slices.Sort(times)
	sum := 0.
	for _, t := range times {
		sum += t.Seconds()
	}
	at := func(p float64) float64 {
		x := p * float64(len(times)-1)
		low := int(x)
		a, b := times[low].Seconds(), times[min(low+1, len(times)-1)].Seconds()
		return round(a + (b-a)*(x-float64(low)))
	}
	return Figures{P50: at(.5), P75: at(.75), P90: at(.9), P95: at(.95), P99: at(.99), Mean: round(sum / float64(len(times)))}
}

// round cuts noise below a microsecond.
func round(s float64) float64 { return math.Round(s*1e6) / 1e6 }

// WriteJSON prints a report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Write prints a report as a table.
func (r *Report) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d workers (%d for short jobs only), cutoff %g s, seed %d\n\n", r.Mode, r.Workers, r.Partition, r.Cutoff, r.Seed)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "seconds\tp50\tp75\tp90\tp99\tmean\tof\t")
	row := func(name string, f Figures, n int, what string) {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%d %s\t\n", name, f.P50, f.P75, f.P90, f.P99, f.Mean, n, what)
	}
	row("short jobs, completion", r.ShortJobs.Completion, r.ShortJobs.Jobs, "jobs")
	row("short jobs, wait", r.ShortJobs.Wait, r.ShortJobs.Tasks, "tasks")
	row("long jobs, completion", r.LongJobs.Completion, r.LongJobs.Jobs, "jobs")
	row("long jobs, wait", r.LongJobs.Wait, r.LongJobs.Tasks, "tasks")
	if err := t.Flush(); err != nil {
		return err
	}
	if d := r.Dice; d != nil {
		fmt.Fprintf(w, "\nDice: %.1f workers closed to new long tasks in the mean of %d windows, %d suspensions\n", d.Closed, d.Windows, d.Suspensions)
	}
	if e := r.Eirene; e != nil {
		fmt.Fprintf(w, "\nEirene: %d short tasks read one of %d copies in memory; %d clones, of which %d ended first\n", e.Hits, e.Copies, e.Clones, e.Won)
	}
	u := r.Utilisation
	_, err := fmt.Fprintf(w, "\nutilisation: mean %.2f %%, dense %.2f %% (median %.2f %%)\n", u.Mean, u.Dense, u.DenseMedian)
	return err
}
