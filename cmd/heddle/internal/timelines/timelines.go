// Package timelines prints when an application and its containers reached each step.
package timelines

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"heddle/cmd/heddle/internal/when"
	"heddle/internal/plain"
)

// Timeline is the ResourceManager's record of an application's steps, in ms since 1970; 0 means unknown.
type Timeline struct {
	State, FinalStatus                                  string
	Submitted, Accepted, Launched, Registered, Finished json.Number
	Attempt                                             []struct {
		AppAttemptID                          string `json:"appAttemptId"`
		Asked, Launched, Registered, Finished json.Number
	}
	Container           []container
	ContainersForgotten json.Number
}

type container struct {
	ContainerID, NodeID                                 string
	ApplicationMaster, Live                             bool
	Priority, ExitStatus                                json.Number
	Asked, Granted, Accepted, Localized, Started, Ended json.Number

	Suspended []struct {
		From, To    json.Number
		Queue, User string
	}
}

// Write prints the application's steps with the time of day, and those of containers in seconds since the application was submitted.
func (t *Timeline) Write(out io.Writer, id string) error {
	w := &writer{out: out, zero: when.Millis(t.Submitted), table: tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)}
	w.print("%s is %s, %s\n", id, t.State, t.FinalStatus)
	w.steps(t)
	w.containers(t.Container)
	w.suspensions(t.Container)
	if n := when.Millis(t.ContainersForgotten); n > 0 {
		w.print("and %d more, whose times are no longer known\n", n)
	}
	return w.err
}

type writer struct {
	out   io.Writer
	table *tabwriter.Writer
	zero  int64 // when the application was submitted
	err   error
}

func (w *writer) print(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = plain.Cell(s)
		}
	}
	_, err := fmt.Fprintf(w.out, format, args...)
	w.err = errors.Join(w.err, err)
}

func (w *writer) row(cells ...string) {
	for _, c := range cells {
		fmt.Fprint(w.table, plain.Cell(c), "\t")
	}
	fmt.Fprintln(w.table)
}

// since is a time in seconds since the application was submitted.
func (w *writer) since(at json.Number) string { return when.Seconds(when.Millis(at), w.zero) }

// steps prints those of the application and its attempts, in their order.
func (w *writer) steps(t *Timeline) {
	type event struct {
		at   int64
		what string
	}
	events := []event{{w.zero, "submitted"}, {when.Millis(t.Accepted), "accepted"}}
	for _, a := range t.Attempt {
		who := ""
		if len(t.Attempt) > 1 {
			who = a.AppAttemptID + " "
		}
		events = append(events, event{when.Millis(a.Launched), who + "AM launched"}, event{when.Millis(a.Registered), who + "AM registered"})
		if len(t.Attempt) > 1 {
			events = append(events, event{when.Millis(a.Finished), who + "ended"})
		}
	}
	if f := when.Millis(t.Finished); f > 0 {
		events = append(events, event{f, strings.ToLower(t.State)})
	}
	slices.SortStableFunc(events[1:], func(a, b event) int { return int(a.at - b.at) })
	w.row("Time", "Seconds", "Event")
	for _, e := range events {
		if e.at > 0 {
			w.row(when.Clock(e.at), when.Seconds(e.at, w.zero), e.what)
		}
	}
	w.err = errors.Join(w.err, w.table.Flush())
}

func (w *writer) containers(all []container) {
	w.print("\nContainers, in seconds since the application was submitted:\n")
	w.row("Container", "Node", "Priority", "Asked", "Granted", "Localized", "Started", "Ended", "Exit")
	for _, c := range all {
		name := c.ContainerID
		if c.ApplicationMaster {
			name += " (AM)"
		}
		exit := string(c.ExitStatus)
		if c.Live {
			exit = when.Unknown
		}
		w.row(name, c.NodeID, string(c.Priority), w.since(c.Asked), w.since(c.Granted), w.since(c.Localized), w.since(c.Started), w.since(c.Ended), exit)
	}
	w.err = errors.Join(w.err, w.table.Flush())
}

// suspensions prints when containers were suspended, and for which beneficiary.
func (w *writer) suspensions(all []container) {
	first := true
	for _, c := range all {
		for _, x := range c.Suspended {
			if first {
				first = false
				w.print("\nSuspended or shrunk, in seconds since the application was submitted:\n")
			}
			by := "by its ApplicationMaster"
			if x.Queue != "" {
				by = "for queue " + x.Queue
			} else if x.User != "" {
				by = "by user " + x.User
			}
			w.print("  %s  from %s to %s  %s\n", c.ContainerID, w.since(x.From), w.since(x.To), by)
		}
	}
}
