package machines

import (
	"heddle/rm/access"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

// timeline lists what a node has run. Times are in ms since 1970; those that are unknown are left out.
type timeline struct {
	Node      string      `yarn:"nodeId"`
	From      int64       `yarn:"from"`
	To        int64       `yarn:"to"`
	Hidden    int         `yarn:"hidden"` // containers of applications that the caller may not see
	More      int         `yarn:"more"`   // older containers, which are left out
	Container []container `yarn:"container"`
}

type container struct {
	ID        string `yarn:"containerId"`
	App       string `yarn:"applicationId"`
	Name      string `yarn:"name"`
	User      string `yarn:"user"`
	Master    bool   `yarn:"applicationMaster"`
	Priority  int32  `yarn:"priority"`
	Asked     int64  `yarn:"asked,omitempty"`
	Granted   int64  `yarn:"granted"`
	Localized int64  `yarn:"localized,omitempty"`
	Started   int64  `yarn:"started,omitempty"`
	Ended     int64  `yarn:"ended,omitempty"`
	Live      bool   `yarn:"live"`
	Exit      int32  `yarn:"exitStatus"`
	Suspended []part `yarn:"suspended"`
}

// part is a time in which a container was suspended or shrunk. To is missing of the present one.
type part struct {
	From int64 `yarn:"from"`
	To   int64 `yarn:"to,omitempty"`
}

// timeline answers GET /nodes/{node}/timeline.
func (s *Service) timeline(c *yarnrest.Call) (yarnrest.Reply, error) {
	back, err := span(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	n, err := s.Find(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	user, now := auth.From(c.Context()).User, s.View.Now().UnixMilli()
	out := timeline{Node: n.ID.String(), From: now - back.Milliseconds(), To: now}
	list, hidden, more := view.OnNode(s.View, n.ID, out.From, func(a *view.AppRow) bool {
		return s.Access.MayView(user, access.Application{User: a.User, Queue: a.Queue, Context: a.Context})
	})
	out.Hidden, out.More = hidden, more
	for i := range list {
		out.Container = append(out.Container, containerOf(&list[i]))
	}
	return yarnrest.OK("timeline", yarnrest.Natural, out), nil
}

func containerOf(x *view.NodeContainer) container {
	out := container{
		ID: x.ID.String(), App: x.ID.Attempt.App.String(), Name: x.Name, User: x.User, Master: x.AM, Priority: x.Priority, Asked: x.Asked, Granted: x.Granted,
		Localized: x.Localized, Started: x.Started, Ended: x.Ended, Live: x.Live, Exit: x.Exit,
	}
	for _, p := range x.Suspended {
		out.Suspended = append(out.Suspended, part{p.From, p.To})
	}
	return out
}

func stateOf(n *view.Node) string { return records.NodeStateName(n.State) }
