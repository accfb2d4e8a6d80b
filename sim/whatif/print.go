package whatif

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteJSON writes everything. Times are in seconds, memory in MB · s.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Clean makes text from a record fit for a line of a terminal: it has no control characters.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\u2028' || c == '\u2029' || c >= 0x80 && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 {
			return '�'
		}
		return c
	}, s)
}

// WriteTable writes what people read: what was asked, how good the answer is, queues and users before and after, and who loses.
func (r *Report) WriteTable(w io.Writer) error {
	rec := &r.Record
	fmt.Fprintf(w, "record: %s to %s, %d nodes, %d applications, %d containers\n",
		stamp(rec.Begin), stamp(rec.End), rec.Nodes, rec.Apps, rec.Containers)
	for _, t := range rec.Torn {
		fmt.Fprintf(w, "the last line of %s is incomplete, and was left out\n", Clean(t))
	}
	for _, n := range rec.Notes {
		fmt.Fprintln(w, Clean(n))
	}
	b := r.Backtest
	fmt.Fprintf(w, "backtest: times of %d applications are met within %.1f %% in the median, %.1f %% at p90, %.1f %% at p95\n", b.Apps, 100*b.Median, 100*b.P90, 100*b.P95)
	for _, c := range r.Changes {
		fmt.Fprintf(w, "changed: %s\n", Clean(c))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "\n\tapps\tcontainers\twait p50\tp90\tp99 (s)\ttime p50\tp90\tp99 (s)\tshare\tpreempted\tsuspended (s)\tmemory (GB·h)\t\n")
	r.lines(t, "cluster", []Row{r.Cluster})
	r.partitionLines(t)
	r.lines(t, "queue", r.Queues)
	r.lines(t, "user", r.Users[:min(len(r.Users), maxUsers)])
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(r.Users) - maxUsers; more > 0 {
		fmt.Fprintf(w, "%d more users: --json has all\n", more)
	}
	r.list(w, "loses", "nobody loses by more than the error bars\n", r.Losers)
	r.list(w, "gains", "nobody gains by more than the error bars\n", r.Gainers)
	for _, a := range r.Added {
		fmt.Fprintf(w, "added: %s in %s starts %s after its submission, and ends %s after it\n", Clean(a.Name), Clean(a.Queue), after(a.Start), after(a.End))
	}
	return nil
}

// maxUsers bounds the users of a table.
const maxUsers = 40

func after(s float64) string {
	if s < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f s", s)
}

func stamp(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05Z") }

func (r *Report) lines(w io.Writer, kind string, rows []Row) {
	for i := range rows {
		x := &rows[i]
		name := kind
		if kind != "cluster" {
			name += " " + Clean(x.Name)
		}
		for k, f := range []*Figures{&x.Before, &x.After} {
			when := []string{"before", "after"}[k]
			fmt.Fprintf(w, "%s %s\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f %%\t%d\t%.0f\t%.1f\t\n",
				name, when, f.Apps, f.Containers, f.Wait.P50, f.Wait.P90, f.Wait.P99, f.Time.P50, f.Time.P90, f.Time.P99, 100*f.Share, f.Preempted, f.Standstill, f.Memory/1024/3600)
		}
		fmt.Fprintf(w, "%s error\t\t\t\t%+.1f to %+.1f\t\t\t%+.1f to %+.1f %%\t\t\t\t\t\t\n",
			name, x.Bars.Less, x.Bars.More, 100*(x.Bars.Low-1), 100*(x.Bars.High-1))
	}
}

// partitionLines writes rows of partitions. Applications, and their times, aren't one partition's.
func (r *Report) partitionLines(w io.Writer) {
	for i := range r.Partitions {
		x := &r.Partitions[i]
		for k, f := range []*Figures{&x.Before, &x.After} {
			fmt.Fprintf(w, "partition %s %s\t\t%d\t%.1f\t%.1f\t%.1f\t\t\t\t%.1f %%\t%d\t%.0f\t%.1f\t\n", Clean(PartitionName(x.Name)), []string{"before", "after"}[k],
				f.Containers, f.Wait.P50, f.Wait.P90, f.Wait.P99, 100*f.Share, f.Preempted, f.Standstill, f.Memory/1024/3600)
		}
		fmt.Fprintf(w, "partition %s error\t\t\t\t%+.1f to %+.1f\t\t\t\t\t\t\t\t\t\n", Clean(PartitionName(x.Name)), x.Bars.Less, x.Bars.More)
	}
}

// PartitionName returns how YARN names a partition.
func PartitionName(label string) string { return cmp.Or(label, "<DEFAULT_PARTITION>") }

func (r *Report) list(w io.Writer, what, none string, list []Loser) {
	fmt.Fprintln(w)
	if len(list) == 0 {
		fmt.Fprint(w, none)
	}
	for _, l := range list {
		if l.Figure == "applications that can't end" {
			fmt.Fprintf(w, "%s %s %s: %.0f of its applications can't end, %.0f before\n", l.Kind, Clean(l.Name), what, l.After, l.Before)
			continue
		}
		to := fmt.Sprintf("%.1f s", l.After)
		if l.After < 0 {
			to = "no end"
		}
		fmt.Fprintf(w, "%s %s %s: %s %.1f s before, %s after\n", l.Kind, Clean(l.Name), what, l.Figure, l.Before, to)
	}
}
