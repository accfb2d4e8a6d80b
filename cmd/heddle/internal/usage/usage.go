// Package usage is the command `heddle usage`: what users or queues have used, for accounting.
package usage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/cluster"
	"heddle/cmd/heddle/internal/command"
	"heddle/conf"
	"heddle/internal/plain"
)

const path = "/ws/v1/heddle/usage"

const help = `Prints what users or queues have used, from the samples that the ResourceManagers take each 10 s and keep for 30 days.

--since and --until are a day (today, yesterday, 2026-11-29), a time (2026-11-29T14:00, in this machine's zone) or how long ago
(90m, 6h, 7d). Without --until, yesterday and other days begin the span, which ends now. What ended within 10 s is
counted by chance, and whole quarters of an hour are summed up.`

// options are those of the command line.
type options struct {
	since, until, by, each string
	csv, json              bool
}

// New returns the command. load reads the configuration.
func New(load func() (*conf.Config, error)) *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use: "usage", GroupID: command.Group, Short: "Show what users or queues have used", Long: help, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := load()
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), c, cmd.OutOrStdout(), time.Now())
		},
	}
	f := c.Flags()
	f.StringVar(&o.since, "since", "yesterday", "beginning")
	f.StringVar(&o.until, "until", "", "end (default now)")
	f.StringVar(&o.by, "by", "user", "user or queue")
	f.StringVar(&o.each, "each", "", "day: one line for each day")
	f.BoolVar(&o.csv, "csv", false, "print CSV")
	f.BoolVar(&o.json, "json", false, "print REST's JSON")
	return c
}

// answer is that of REST.
type answer struct {
	Usage struct {
		From, To, Begins, Hidden, More int64
		Account                        []account
	}
}

type account struct {
	Name               string
	From               int64
	MemoryMBSeconds    int64 `json:"memoryMBSeconds"`
	VCoreSeconds       int64 `json:"vcoreSeconds"`
	GPUSeconds         int64 `json:"gpuSeconds"`
	ContainerSeconds   int64 `json:"containerSeconds"`
	SuspendedMBSeconds int64 `json:"suspendedMBSeconds"`
}

func (o *options) run(ctx context.Context, c *conf.Config, out io.Writer, now time.Time) error {
	query, err := o.query(now)
	if err != nil {
		return err
	}
	cl, err := cluster.New(c)
	if err != nil {
		return err
	}
	defer cl.Close()
	if o.csv {
		query.Set("format", "csv")
	}
	body, err := cl.Get(ctx, path, query)
	if cluster.IsUnknownPath(err) {
		return errors.New("this ResourceManager keeps no history of use: YARN's doesn't, nor does an older Heddle")
	}
	if err != nil {
		return err
	}
	if o.csv || o.json {
		_, err = out.Write(body)
		return err
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return fmt.Errorf("the answer of %s is not the expected JSON: %w", path, err)
	}
	return o.write(out, &a, now.Location())
}

// query makes the query of the REST call.
func (o *options) query(now time.Time) (url.Values, error) {
	since, err := moment(o.since, now)
	if err != nil {
		return nil, fmt.Errorf("--since %w", err)
	}
	until := now
	if o.until != "" {
		if until, err = moment(o.until, now); err != nil {
			return nil, fmt.Errorf("--until %w", err)
		}
	}
	_, offset := now.Zone()
	q := url.Values{
		"from": {strconv.FormatInt(since.UnixMilli(), 10)}, "to": {strconv.FormatInt(until.UnixMilli(), 10)}, "by": {o.by}, "zone": {strconv.Itoa(offset / 60)},
	}
	if o.each != "" {
		q.Set("each", o.each)
	}
	return q, nil
}

// moment reads a time.
func moment(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return now, nil
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return at, nil
		}
	}
	if n := len(text); n > 1 && text[n-1] == 'd' {
		if days, err := strconv.ParseUint(text[:n-1], 10, 16); err == nil {
			return now.AddDate(0, 0, -int(days)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return now, fmt.Errorf("%.60q: want a day (today, yesterday, 2026-11-29), a time (2026-11-29T14:00), or how long ago (90m, 6h, 7d)", text)
}

// hours writes an amount × seconds in amount × hours.
func hours(n, per int64) string { return strconv.FormatFloat(float64(n)/float64(per)/3600, 'f', 1, 64) }

func (o *options) write(out io.Writer, a *answer, zone *time.Location) error {
	u := &a.Usage
	at := func(ms int64) string { return time.UnixMilli(ms).In(zone).Format("2006-01-02 15:04") }
	fmt.Fprintf(out, "From %s to %s:\n", at(u.From), at(u.To))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	day := func(ms int64) string { return "" }
	if o.each != "" {
		day = func(ms int64) string { return time.UnixMilli(ms).In(zone).Format(time.DateOnly) + "\t" }
		fmt.Fprint(w, "Day\t")
	}
	fmt.Fprint(w, "GB-hours\tvcore-hours\tGPU-hours\tcontainer-hours\tsuspended GB-hours\t  "+map[string]string{"queue": "Queue"}[o.by])
	if o.by != "queue" {
		fmt.Fprint(w, "User")
	}
	fmt.Fprintln(w)
	for _, x := range u.Account {
		fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t  %s\n", day(x.From), hours(x.MemoryMBSeconds, 1024), hours(x.VCoreSeconds, 1), hours(x.GPUSeconds, 1), hours(x.ContainerSeconds, 1),
			hours(x.SuspendedMBSeconds, 1024), plain.Cell(x.Name))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, note := range []struct {
		tell bool
		text string
	}{
		{len(u.Account) == 0, "The cluster has no record of any use.\n"},
		{u.Begins > u.From, "The history begins at " + at(u.Begins) + ".\n"},
		{u.Hidden > 0, fmt.Sprintf("%d users are left out: only administrators see others than themselves.\n", u.Hidden)},
		{u.More > 0, fmt.Sprintf("%d more have used less, and are left out.\n", u.More)},
	} {
		if note.tell {
			fmt.Fprint(out, note.text)
		}
	}
	return nil
}
