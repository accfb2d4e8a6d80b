// Package receipts prints where an application's time went.
package receipts

import (
	"fmt"
	"io"
	"text/tabwriter"

	"heddle/internal/plain"
)

// Receipt is where an application's time went, as the ResourceManager says. Times are in ms since 1970.
type Receipt struct {
	State, FinalStatus string
	TotalMS            int64 `json:"totalMs"`
	From               int64
	Part               []struct {
		Kind, Detail string
		MS           int64
	}
	Step []struct {
		Kind, Detail, ContainerID, NodeID, Queue, User, Reason string
		From, To                                               int64
	}
	ContainersForgotten int64
	ContainersLive      int64

	TasksForgotten, CopiesWon, CopiesLost int64
	OvertakenMS                           int64 `json:"overtakenMs"`
}

// Write prints sums, and the steps of which each waited for the one before. Errors are those of w.
func (r *Receipt) Write(w io.Writer, app string) error {
	fmt.Fprintf(w, "%s is %s, %s. Its %.3f s went to:\n", app, r.State, r.FinalStatus, float64(r.TotalMS)/1000)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range r.Part {
		fmt.Fprintf(t, "  %s\t%.3f s\t%.0f %%\n", plain.Cell(named(p.Kind, p.Detail)), float64(p.MS)/1000, 100*float64(p.MS)/float64(max(r.TotalMS, 1)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprint(w, "\nStep by step, in seconds since it was submitted:\n")
	since := func(ms int64) float64 { return float64(ms-r.From) / 1000 }
	for _, x := range r.Step {
		more := ""
		switch {
		case x.Queue != "":
			more = " for queue " + x.Queue
		case x.User != "":
			more = " by user " + x.User
		case x.Reason != "":
			more = ": " + x.Reason
		default:
			x.Kind = named(x.Kind, x.Detail)
		}
		fmt.Fprintf(t, "  %.3f\t%.3f\t%s\t%s\t%s\n", since(x.From), since(x.To), plain.Cell(x.Kind+more), plain.Cell(x.ContainerID), plain.Cell(x.NodeID))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return r.writeRest(w)
}

// named returns the name of a kind with its detail.
func named(kind, detail string) string {
	if detail == "" {
		return kind
	}
	return kind + " (" + detail + ")"
}

// writeRest prints what stands beside the steps.
func (r *Receipt) writeRest(w io.Writer) error {
	if r.CopiesWon+r.CopiesLost > 0 {
		if _, err := fmt.Fprintf(w, "\nCopies of tasks: %d were faster, %d were not; %.3f s went to tries that others overtook\n", r.CopiesWon, r.CopiesLost, float64(r.OvertakenMS)/1000); err != nil {
			return err
		}
	}
	if r.ContainersLive > 0 {
		if _, err := fmt.Fprintf(w, "\nContainers that haven't ended: %d; whether files had to be fetched, and whether they lacked a processor, is known when they have\n", r.ContainersLive); err != nil {
			return err
		}
	}
	if r.TasksForgotten > 0 {
		if _, err := fmt.Fprintf(w, "%d tasks between the first and the newest are no longer known\n", r.TasksForgotten); err != nil {
			return err
		}
	}
	if r.ContainersForgotten > 0 {
		_, err := fmt.Fprintf(w, "%d containers between the first and the newest are no longer known\n", r.ContainersForgotten)
		return err
	}
	return nil
}
