package rest

import (
	"heddle/rm/rest/receipts"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// timeline says when an application reached each step; unknown times are left out.
type timeline struct {
	App        string              `yarn:"applicationId"`
	State      string              `yarn:"state"`
	Final      string              `yarn:"finalStatus"`
	Submitted  int64               `yarn:"submitted"`
	Accepted   int64               `yarn:"accepted,omitempty"`
	Launched   int64               `yarn:"launched,omitempty"`
	Registered int64               `yarn:"registered,omitempty"`
	Finished   int64               `yarn:"finished,omitempty"`
	Attempts   []attemptTimeline   `yarn:"attempt"`
	Containers []containerTimeline `yarn:"container"`
	More       int64               `yarn:"containersForgotten"`
}

type attemptTimeline struct {
	ID         string `yarn:"appAttemptId"`
	Container  string `yarn:"amContainerId,omitempty"`
	Asked      int64  `yarn:"asked,omitempty"`
	Launched   int64  `yarn:"launched,omitempty"`
	Registered int64  `yarn:"registered,omitempty"`
	Finished   int64  `yarn:"finished,omitempty"`
}

type containerTimeline struct {
	ID        string `yarn:"containerId"`
	Node      string `yarn:"nodeId"`
	Master    bool   `yarn:"applicationMaster"`
	Priority  int32  `yarn:"priority"`
	Asked     int64  `yarn:"asked,omitempty"`
	Granted   int64  `yarn:"granted"`
	Accepted  int64  `yarn:"accepted,omitempty"`
	Localized int64  `yarn:"localized,omitempty"`
	Started   int64  `yarn:"started,omitempty"`
	Ended     int64  `yarn:"ended,omitempty"`
	Live      bool   `yarn:"live"`
	Exit      int32  `yarn:"exitStatus"`

	Suspended []suspendedSpan `yarn:"suspended"`
}

// suspendedSpan is a time in which a container was suspended or shrunk. To is missing of the present one.
type suspendedSpan struct {
	From  int64  `yarn:"from"`
	To    int64  `yarn:"to,omitempty"`
	Queue string `yarn:"queue,omitempty"`
	User  string `yarn:"user,omitempty"`
}

// times answers GET /apps/{app}/timeline and what else is made of one.
func (s *server) times(name string, of func(*view.App, *view.Timeline) any) yarnrest.Handler {
	return func(c *yarnrest.Call) (yarnrest.Reply, error) {
		a, err := s.findVisible(c)
		if err != nil {
			return yarnrest.Reply{}, err
		}
		t, ok := s.View.Timeline(a.ID)
		if !ok {
			return yarnrest.Reply{}, s.absent(yarnrest.NotFound("app with id: %v not found", a.ID))
		}
		return yarnrest.OK(name, yarnrest.Natural, of(&a, &t)), nil
	}
}

func (s *server) receipt(a *view.App, t *view.Timeline) any {
	waits := ""
	if reasons := s.View.Explain(a); len(reasons) > 0 {
		waits = s.View.Summary(a, reasons)
	}
	return receipts.Of(t, stateName(t.App.State), waits, s.View.Now().UnixMilli())
}

func timelineOf(_ *view.App, t *view.Timeline) any {
	out := timeline{
		App: t.App.ID.String(), State: stateName(t.App.State), Final: records.FinalStatusName(t.App.FinalStatus), Submitted: t.App.SubmitTime, More: t.More,
	}
	if t.App.State.Ended() {
		out.Finished = t.App.FinishTime
	}
	for i, at := range t.Attempts {
		if i == 0 {
			out.Accepted = at.Asked
		}
		// of several attempts the furthest one stands for the application
		if at.Registered > 0 || i == 0 {
			out.Launched, out.Registered = at.Launched, at.Registered
		}
		row := attemptTimeline{ID: at.ID.String(), Asked: at.Asked, Launched: at.Launched, Registered: at.Registered, Finished: at.Finished}
		if at.AMContainer.ID != 0 {
			row.Container = at.AMContainer.String()
		}
		out.Attempts = append(out.Attempts, row)
	}
	for _, c := range t.Containers {
		row := containerTimeline{
			ID: c.ID.String(), Node: c.Node.String(), Master: c.AM, Priority: c.Priority, Asked: c.Asked, Granted: c.Granted,
			Accepted: c.Accepted, Localized: c.Localized, Started: c.Started, Ended: c.Ended, Live: c.Live, Exit: c.Exit,
		}
		for _, x := range c.Suspended {
			row.Suspended = append(row.Suspended, suspendedSpan{x.From, x.To, x.Cause.Queue, x.Cause.User})
		}
		out.Containers = append(out.Containers, row)
	}
	return out
}
