package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"heddle/cmd/heddle/internal/plain"
	"heddle/yarn/records"
)

// timeline is the ResourceManager's record of an application's steps, in ms since 1970; 0 means unknown.
type timeline struct {
	State, FinalStatus                                  string
	Submitted, Accepted, Launched, Registered, Finished json.Number
	Attempt                                             []struct {
		AppAttemptID                          string `json:"appAttemptId"`
		AMContainerID                         string `json:"amContainerId"`
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
	zero := millis(t.Submitted)
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
	events := []event{{zero, "submitted"}, {millis(t.Accepted), "accepted"}}
	for _, a := range t.Attempt {
		who := ""
		if len(t.Attempt) > 1 {
			who = a.AppAttemptID + " "
		}
		events = append(events, event{millis(a.Launched), who + "AM launched"}, event{millis(a.Registered), who + "AM registered"})
		if len(t.Attempt) > 1 {
			events = append(events, event{millis(a.Finished), who + "ended"})
		}
	}
	if f := millis(t.Finished); f > 0 {
		events = append(events, event{f, strings.ToLower(t.State)})
	}
	slices.SortStableFunc(events[1:], func(a, b event) int { return int(a.at - b.at) })
	for _, e := range events {
		if e.at > 0 {
			row(clock(e.at), seconds(e.at, zero), e.what)
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
			exit = unknownTime
		}
		row(name, c.NodeID, string(c.Priority), seconds(millis(c.Asked), zero), seconds(millis(c.Granted), zero),
			seconds(millis(c.Localized), zero), seconds(millis(c.Started), zero), seconds(millis(c.Ended), zero), exit)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	s.timelineSuspensions(t.Container, zero)
	if n := millis(t.ContainersForgotten); n > 0 {
		s.print("and %d more, whose times are no longer known\n", n)
	}
	return nil
}

// timelineSuspensions prints when containers were suspended, and for whom.
func (s *session) timelineSuspensions(containers []timelineContainer, zero int64) {
	any := false
	for _, c := range containers {
		for _, x := range c.Suspended {
			if !any {
				any = true
				s.print("\nSuspended or shrunk, in seconds since the application was submitted:\n")
			}
			by := "by its ApplicationMaster"
			switch {
			case x.Queue != "":
				by = "for queue " + x.Queue
			case x.User != "":
				by = "by user " + x.User
			}
			s.print("  %s  from %s to %s  %s\n", c.ContainerID, seconds(millis(x.From), zero), seconds(millis(x.To), zero), by)
		}
	}
}

// unknownTime is printed for a step that is unknown or hasn't happened yet.
const unknownTime = "-"

// millis reads a time. A missing one is 0.
func millis(n json.Number) int64 {
	ms, err := n.Int64()
	if err != nil {
		return 0
	}
	return ms
}

func clock(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }

func seconds(ms, since int64) string {
	if ms <= 0 {
		return unknownTime
	}
	return fmt.Sprintf("%.3f", float64(ms-since)/1000)
}
