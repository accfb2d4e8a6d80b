package rest

import (
	"errors"
	"net/http"

	"heddle/rm/access"
	"heddle/rm/door"
	"heddle/rm/feed"
	"heddle/rm/leader"
	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/rest/history"
	"heddle/rm/rest/machines"
	"heddle/rm/rest/members"
	byLabel "heddle/rm/rest/partitions"
	"heddle/rm/rest/places"
	"heddle/rm/rest/recordings"
	"heddle/rm/rest/who"
	"heddle/rm/view"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// heddleBase begins the paths of Heddle's own API, which docs/heddle-api.yaml describes.
const heddleBase = "/ws/v1/heddle"

// routeHeddle adds the paths of Heddle's own API.
func (s *server) routeHeddle(api *yarnrest.API) {
	get := func(path string, h yarnrest.Handler) {
		api.Handle(heddleBase+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	(&members.Service{Group: s.Backend, Access: s.Access, Epoch: func() int64 { return s.View.Cluster().Epoch }, Audited: s.visits.Administered}).Route(api, heddleBase)
	get("/apps/{app}/pending", s.pending)
	get("/apps/{app}/timeline", s.times("timeline", timelineOf))
	get("/apps/{app}/receipt", s.times("receipt", s.receipt))
	get("/apps/{app}/containers", s.appContainers)
	get("/containers/{container}", s.ownContainer)
	api.Handle(heddleBase+"/containers/{container}/suspend", yarnrest.Methods{http.MethodPost: {Handle: s.suspend}})
	api.Handle(heddleBase+"/containers/{container}/resume", yarnrest.Methods{http.MethodPost: {Handle: s.resume}})
	get("/preemptions", s.preemptions)
	s.lists.Route(api, heddleBase)
	s.records().Route(api, heddleBase)
	(&who.Service{View: s.View, Access: s.Access, Proves: s.proves, ReadOnly: s.readOnly, Forget: s.forget}).Route(api, heddleBase)
	machines.New(machines.Config{View: s.View, Access: s.Access, Conf: s.Conf, Find: s.findNode, Admin: s.mustAdminister, Audited: s.visits.Administered, Leader: s.leader, Refusal: refusalReply}).Route(api, heddleBase)
	s.partitions().Route(api, heddleBase)
	(&history.Service{Ledger: s.Backend, Access: s.Access, Now: s.Now}).Route(api, heddleBase)
	api.Handle(heddleBase+"/events", yarnrest.Methods{http.MethodGet: {Handle: s.stream.Events, Shared: true, Gives: []yarnrest.Format{yarnrest.EventStream, yarnrest.JSON}}})
	get("/queues/{queue}/what-if", s.whatIf)
	s.routeQueueTrial(api)
	if s.Logs != nil {
		s.Logs.Route(api, heddleBase, places.Finder{View: s.View, Access: s.Access, Unnamed: unnamed})
	}
}

func (s *server) partitions() *byLabel.Service {
	return &byLabel.Service{View: s.View, Uses: s.uses, Types: s.Types}
}

func (s *server) records() *recordings.Service {
	return &recordings.Service{Recording: s.Record, Admin: func(c *yarnrest.Call) bool { return s.Access.Admin(caller(c)) }}
}

// findVisible finds the application in the path, if the caller may see it.
func (s *server) findVisible(c *yarnrest.Call) (view.App, error) {
	a, err := s.findApp(c)
	if err == nil && !s.Access.MayView(caller(c), a.Rights()) {
		if err = yarnrest.Forbidden("User %s does not have privilege to see application %v", caller(c), a.ID); unnamed(c) {
			err = yarnrest.Unauthorized("Application %v is "+sayWho, a.ID)
		}
	}
	return a, err
}

// mayView returns a function that reports whether the caller may see an application. It looks each one up once.
func (s *server) mayView(c *yarnrest.Call) func(records.ApplicationID) bool {
	may := map[records.ApplicationID]bool{}
	return func(id records.ApplicationID) bool {
		if _, known := may[id]; !known {
			a, ok := s.View.App(id)
			may[id] = ok && s.Access.MayView(caller(c), a.Rights())
		}
		return may[id]
	}
}

// maySee decides which events a caller may know of: those of applications that the caller may see in full, and all that aren't of an application.
func (s *server) maySee(c *yarnrest.Call) func(*feed.Event) bool {
	user := caller(c)
	return func(e *feed.Event) bool {
		if e.App == (records.ApplicationID{}) || !s.Access.Enabled {
			return true
		}
		of := access.Application{User: e.User, Queue: e.Queue}
		s.Backend.Read(func(st *ledger.State) {
			if a := st.Apps[e.App]; a != nil {
				of = access.Application{User: a.User, Queue: a.Queue, Context: a.Context}
			}
		})
		return (of.User != "" || s.Access.Admin(user)) && s.Access.MayView(user, of)
	}
}

type ownContainers struct {
	Container []ownContainer `yarn:"container"`
}

// ownContainer is a container with details that YARN doesn't show.
type ownContainer struct {
	ID        string       `yarn:"containerId"`
	Node      string       `yarn:"nodeId"`
	NodeHTTP  string       `yarn:"nodeHttpAddress"`
	User      string       `yarn:"user"`
	Resource  resourceInfo `yarn:"resource"`
	Priority  int32        `yarn:"priority"`
	Master    bool         `yarn:"applicationMaster"`
	Suspended bool         `yarn:"suspended"`
	Level     string       `yarn:"level"`
	Held      resourceInfo `yarn:"held"`
	State     string       `yarn:"state"`
	Allocated int64        `yarn:"allocatedTime"`
	Started   int64        `yarn:"startedTime"`
	Logs      string       `yarn:"logUrl"`

	Suspension *suspensionInfo `yarn:"suspension"`
	Ran        bool            `yarn:"ranAlready,omitempty"` // when it was to resume
}

func (s *server) ownContainerInfo(c *view.Container) ownContainer {
	state := "RUNNING"
	switch {
	case c.Suspended():
		state = "SUSPENDED"
	case c.Started == 0:
		state = "ALLOCATED"
	}
	return ownContainer{
		c.ID.String(), c.Node.String(), c.NodeHTTPAddress, c.User, s.resource(c.Resource), c.Priority, c.AM, c.Suspended(), c.Level.String(), s.resource(c.Held()), state,
		c.Allocated, c.Started, view.LogsURL(s.View.URL(c.NodeHTTPAddress), c.ID, c.User), s.suspension(c), false,
	}
}

func (s *server) appContainers(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findVisible(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	var out ownContainers
	if a.Attempt.Attempt > 0 {
		list, _ := s.View.Containers(a.Attempt)
		for i := range list {
			out.Container = append(out.Container, s.ownContainerInfo(&list[i]))
		}
	}
	return yarnrest.OK("containers", yarnrest.Natural, out), nil
}

// findContainer finds the container in the path, and its application.
func (s *server) findContainer(c *yarnrest.Call) (view.Container, view.App, error) {
	id, err := containerID(c.Var("container"))
	if err != nil {
		return view.Container{}, view.App{}, err
	}
	found, ok := s.View.Container(id)
	if !ok {
		return found, view.App{}, s.absent(yarnrest.NotFoundBy(yarnrest.ContainerNotFound,
			"Container with id '%v' doesn't exist, or has ended", id))
	}
	a, ok := s.View.App(id.Attempt.App)
	if !ok {
		return found, a, s.absent(yarnrest.NotFound("app with id: %v not found", id.Attempt.App))
	}
	return found, a, nil
}

func (s *server) ownContainer(c *yarnrest.Call) (yarnrest.Reply, error) {
	found, a, err := s.findContainer(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if !s.Access.MayView(caller(c), a.Rights()) {
		return yarnrest.Reply{}, yarnrest.Forbidden("User %s does not have privilege to see container %v", caller(c), found.ID)
	}
	return yarnrest.OK("container", yarnrest.Natural, s.ownContainerInfo(&found)), nil
}

// onContainer asks the container's node for an operation on it, and answers when that is done, or its node doesn't say whether it is (level.Unconfirmed).
func (s *server) onContainer(c *yarnrest.Call, what string, do func(*leader.Leader, records.ContainerID) error) (after ownContainer, err error) {
	if err := noCaller(c); err != nil {
		return after, err
	}
	found, a, err := s.findContainer(c)
	if err != nil {
		return after, err
	}
	l, err := s.leader()
	if err != nil {
		return after, err
	}
	var unconfirmed *level.Unconfirmed
	var notPermitted *door.NotPermitted
	if err = do(l, found.ID); errors.As(err, &notPermitted) {
		return after, yarnrest.Forbidden("User %s may not %s container %v of user %s: only its owner, users on the application's modify ACL, "+
			"administrators of queue %s, and administrators may", caller(c), what, found.ID, a.User, a.Queue)
	} else if err != nil && !errors.As(err, &unconfirmed) {
		return after, refusalReply(err)
	}
	if now, ok := s.View.Container(found.ID); ok {
		found = now
	}
	return s.ownContainerInfo(&found), err
}
