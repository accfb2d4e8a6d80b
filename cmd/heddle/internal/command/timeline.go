package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"heddle/cmd/heddle/internal/receipts"
	"heddle/cmd/heddle/internal/when"
	"heddle/internal/plain"
	"heddle/yarn/records"
)

// timeline is the ResourceManager's record of an application's steps, in ms since 1970; 0 means unknown.
type timeline struct {
	State, FinalStatus                                  string
	Submitted, Accepted, Launched, Registered, Finished json.Number
	Attempt                                             []struct {
		AppAttemptID                          string `json:"appAttemptId"`
		Asked, Launched, Registered, Finished json.Number
	}
	Container           []timelineContainer
	ContainersForgotten json.Number
}

type timelineContainer struct {
	ContainerID, NodeID                                 string
	ApplicationMaster, Live                             bool
	Priority, ExitStatus                                json.Number
	Asked, Granted, Accepted, Localized, Started, Ended json.Number

	Suspended []struct {
		From, To    json.Number
		Queue, User string
	}
}

// appTimeline prints when an application and its containers reached each step: the application's steps with the time of
// day, those of containers in seconds since the application was submitted.
func (s *session) appTimeline(text string) error {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return err
	}
	path := heddleAPI + "/apps/" + id.String() + "/timeline"
	if s.json {
		return notHeddle(s.printREST(path, nil))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct{ Timeline timeline }
	if err := c.GetInto(s, path, nil, &answer); err != nil {
		return notHeddle(err)
	}
	t := &answer.Timeline
	zero := when.Millis(t.Submitted)
	s.print("%s is %s, %s\n", id, t.State, t.FinalStatus)
	w := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) {
		for _, c := range cells {
			fmt.Fprint(w, plain.Cell(c), "\t")
		}
		fmt.Fprintln(w)
	}
	row("Time", "Seconds", "Event")
	type event struct {
		at   int64
		what string
	}
	events := []event{{zero, "submitted"}, {when.Millis(t.Accepted), "accepted"}}
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
	for _, e := range events {
		if e.at > 0 {
			row(when.Clock(e.at), when.Seconds(e.at, zero), e.what)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.print("\nContainers, in seconds since the application was submitted:\n")
	row("Container", "Node", "Priority", "Asked", "Granted", "Localized", "Started", "Ended", "Exit")
	for _, c := range t.Container {
		name := c.ContainerID
		if c.ApplicationMaster {
			name += " (AM)"
		}
		exit := string(c.ExitStatus)
		if c.Live {
			exit = when.Unknown
		}
		row(name, c.NodeID, string(c.Priority), when.Seconds(when.Millis(c.Asked), zero), when.Seconds(when.Millis(c.Granted), zero),
			when.Seconds(when.Millis(c.Localized), zero), when.Seconds(when.Millis(c.Started), zero), when.Seconds(when.Millis(c.Ended), zero), exit)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.timelineSuspensions(t.Container, zero)
	if n := when.Millis(t.ContainersForgotten); n > 0 {
		s.print("and %d more, whose times are no longer known\n", n)
	}
	return nil
}

// appReceipt prints where an application's time went.
func (s *session) appReceipt(text string) error {
	id, err := records.ParseApplicationID(text)
	if err != nil {
		return err
	}
	path := heddleAPI + "/apps/" + id.String() + "/receipt"
	if s.json {
		return notHeddle(s.printREST(path, nil))
	}
	c, err := s.cluster()
	if err != nil {
		return err
	}
	var answer struct{ Receipt receipts.Receipt }
	if err := c.GetInto(s, path, nil, &answer); err != nil {
		return notHeddle(err)
	}
	return answer.Receipt.Write(s.out, id.String())
}

// timelineSuspensions prints when containers were suspended, and for which beneficiary.
func (s *session) timelineSuspensions(containers []timelineContainer, zero int64) {
	any := false
	for _, c := range containers {
		for _, x := range c.Suspended {
			if !any {
				any = true
				s.print("\nSuspended or shrunk, in seconds since the application was submitted:\n")
			}
			by := "by its ApplicationMaster"
			if x.Queue != "" {
				by = "for queue " + x.Queue
			} else if x.User != "" {
				by = "by user " + x.User
			}
			s.print("  %s  from %s to %s  %s\n", c.ContainerID, when.Seconds(when.Millis(x.From), zero), when.Seconds(when.Millis(x.To), zero), by)
		}
	}
}
