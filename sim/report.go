package sim

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Outcome is the result of one job. Times count from the beginning of the trace; -1 means never.
type Outcome struct {
	Name, Queue, User  string
	Tasks              int
	Estimate           Time
	Submit, Start, End Time // Start is when the first task started
	Lost               int  // the most containers that one task has lost to preemption
}

// Report is the result of a simulation. It has no figure that depends on the machine that ran it.
type Report struct {
	Jobs       []Outcome
	Unfinished int
	Tasks      int64
	Suspended  int64 // suspensions of containers
	Preempted  int64 // preempted containers
	Wasted     Time  // their lost work in all
	Decisions  int64
	Events     int64
	End        Time // time of the last event
	MeanWait   Time // mean time of tasks from the submission of their job to their start
	// MeanUse and MedianUse are the utilisation of the cluster's most used resource, 0 to 1. They are taken from
	// samples every 5 s between the arrivals of the hundredth part of the jobs and of the last one.
	MeanUse, MedianUse float64
}

func (m *metrics) report(c *Cluster) *Report {
	r := &Report{
		Jobs: m.outcomes, Tasks: m.begun, Suspended: m.suspended, Preempted: m.preempted, Wasted: m.wasted, Decisions: m.decisions, Events: c.engine.Events(), End: c.engine.Now(),
	}
	for i := range m.outcomes {
		if m.outcomes[i].End < 0 {
			r.Unfinished++
		}
	}
	if m.begun > 0 {
		r.MeanWait = m.waited / Time(m.begun)
	}
	var sum, seen int64
	r.MedianUse = -1
	for level, n := range m.histogram {
		sum += int64(level) * n
		if seen += n; r.MedianUse < 0 && 2*seen >= m.samples {
			r.MedianUse = float64(level) / 1000
		}
	}
	if m.samples > 0 {
		r.MeanUse = float64(sum) / 1000 / float64(m.samples)
	} else {
		r.MedianUse = 0
	}
	return r
}

// Percentile returns a percentile (0 to 100) of sorted times, by linear interpolation.
func Percentile(sorted []Time, p float64) Time {
	if len(sorted) == 0 {
		return 0
	}
	at := p / 100 * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + Time((at-float64(i))*float64(sorted[i+1]-sorted[i]))
}

// Latencies returns the sorted times from submission to end of those jobs for which choose returns true.
func (r *Report) Latencies(choose func(*Outcome) bool) []Time {
	var all []Time
	for i := range r.Jobs {
		if o := &r.Jobs[i]; o.End >= 0 && choose(o) {
			all = append(all, o.End-o.Submit)
		}
	}
	slices.Sort(all)
	return all
}

// Write prints the report for people. If cutoff isn't 0, jobs whose tasks have a longer mean duration are reported as
// long.
func (r *Report) Write(w io.Writer, cutoff Time) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "job latency (s)\tjobs\tp50\tp75\tp90\tp99\tmax\t\n")
	row := func(name string, choose func(*Outcome) bool) {
		l := r.Latencies(choose)
		fmt.Fprintf(t, "%s\t%d\t", name, len(l))
		for _, p := range []float64{50, 75, 90, 99, 100} {
			fmt.Fprintf(t, "%.3f\t", Percentile(l, p).Seconds())
		}
		fmt.Fprintln(t)
	}
	row("all", func(*Outcome) bool { return true })
	if cutoff > 0 {
		row("short", func(o *Outcome) bool { return o.Estimate <= cutoff })
		row("long", func(o *Outcome) bool { return o.Estimate > cutoff })
	}
	for _, q := range r.queues() {
		row(q, func(o *Outcome) bool { return o.Queue == q })
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "tasks %d, mean wait %.3f s; utilisation mean %.1f %%, median %.1f %%; ended at %.3f s; %d decisions, %d events; %d jobs unfinished\n",
		r.Tasks, r.MeanWait.Seconds(), 100*r.MeanUse, 100*r.MedianUse, r.End.Seconds(), r.Decisions, r.Events, r.Unfinished)
	if err == nil && r.Preempted > 0 {
		_, err = fmt.Fprintf(w, "%d containers were preempted after %.3f s of work in all\n", r.Preempted, r.Wasted.Seconds())
	}
	if err == nil && r.Suspended > 0 {
		_, err = fmt.Fprintf(w, "containers were suspended %d times\n", r.Suspended)
	}
	return err
}

// queues returns the queues of the jobs, sorted, if there are several.
func (r *Report) queues() []string {
	seen := map[string]bool{}
	for i := range r.Jobs {
		seen[r.Jobs[i].Queue] = true
	}
	if len(seen) < 2 {
		return nil
	}
	names := make([]string, 0, len(seen))
	for q := range seen {
		names = append(names, q)
	}
	slices.Sort(names)
	return names
}

// WriteJobs prints a line for each job, separated by tabs: name, queue, user, tasks, submission, first start and end in s.
func (r *Report) WriteJobs(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "job\tqueue\tuser\ttasks\tsubmit\tstart\tend")
	for i := range r.Jobs {
		o := &r.Jobs[i]
		fmt.Fprintf(b, "%s\t%s\t%s\t%d\t%.3f\t%.3f\t%.3f\n", o.Name, o.Queue, o.User, o.Tasks, o.Submit.Seconds(), seconds(o.Start), seconds(o.End))
	}
	return b.Flush()
}

// seconds leaves -1 unchanged.
func seconds(t Time) float64 {
	if t < 0 {
		return -1
	}
	return t.Seconds()
}
