package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"heddle/cmd/heddle/internal/bound"
	"heddle/rm/scheduler/eventlog"
)

// replay has the flags of heddle replay.
type replay struct {
	until string
	why   string
	print bool
}

func newReplay() *cobra.Command {
	o := &replay{}
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Replay a log that heddle rm --record wrote",
		Long: "Lets the scheduler decide on the events of a log again, and compares its decisions. Exits with 1 at the first decision that\n" +
			"differs, and names it. --until ends the replay early. --why prints what an application waited for at the end.",
		GroupID: tools,
		Args:    cobra.ExactArgs(1),
		Example: "  heddle replay events.log\n" +
			"  heddle replay events.log --until 2026-11-20T08:30:00Z --why application_1763622000000_0042",
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.OutOrStdout(), args[0]) },
	}
	c.Flags().StringVar(&o.until, "until", "", "stop before events after a time (RFC 3339, or ms since 1970), or after a line of the log (such as line:1200)")
	c.Flags().StringVar(&o.why, "why", "", "print what an application waits for at the end")
	c.Flags().BoolVar(&o.print, "print", false, "print the events")
	return c
}

func (o *replay) run(out io.Writer, file string) error {
	stop, err := bound.Parse(o.until)
	if err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	p := eventlog.NewReplay(f)
	print := json.NewEncoder(out)
	for stop.Line == 0 || p.Line < stop.Line {
		e, err := p.Step()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if o.print && e.Event != nil {
			if err := print.Encode(e.Event); err != nil {
				return err
			}
		}
		if stop.Time > 0 && p.Time >= stop.Time {
			break
		}
	}
	if p.Sessions == 0 {
		return fmt.Errorf("%s: is empty", file)
	}
	if o.why != "" {
		return p.Why(out, o.why)
	}
	if p.Torn() {
		fmt.Fprintln(out, "the last line is incomplete: the replay ignores it")
	}
	_, err = fmt.Fprintf(out, "%d events of %d sessions replayed until %s: all %d decisions are the same\n",
		p.Events, p.Sessions, time.UnixMilli(p.Time).UTC().Format(time.RFC3339Nano), p.Decisions)
	return err
}
