package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/leader/refusal"
	"heddle/rm/rest/apphistory"
	"heddle/rm/view"
	"heddle/yarn/pb"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

type attemptList struct {
	Attempt []attemptInfo `yarn:"appAttempt"`
}

// attemptInfo is an attempt in the list of its application's attempts.
type attemptInfo struct {
	ID          int32   `yarn:"id"`
	StartTime   int64   `yarn:"startTime"`
	FinishTime  int64   `yarn:"finishedTime"`
	Container   string  `yarn:"containerId"`
	NodeHTTP    string  `yarn:"nodeHttpAddress"`
	Node        string  `yarn:"nodeId"`
	Logs        string  `yarn:"logsLink"`
	Blacklisted string  `yarn:"blacklistedNodes"`
	BySystem    *string `yarn:"nodesBlacklistedBySystem"`
	AttemptID   string  `yarn:"appAttemptId"`
	ExportPorts string  `yarn:"exportPorts"`
	State       string  `yarn:"appAttemptState"`
}

func (s *server) attemptInfo(t *view.Attempt, black []string, mayView bool) attemptInfo {
	out := attemptInfo{
		ID: t.ID.Attempt, StartTime: t.StartTime, FinishTime: t.FinishTime, AttemptID: t.ID.String(),
		Blacklisted: strings.Join(black, ", "), State: records.AttemptStateName(t.State.Public()),
	}
	if mayView && t.AMContainer != (records.ContainerID{}) {
		out.Container, out.Node, out.NodeHTTP = t.AMContainer.String(), t.AMNode.String(), t.AMHTTPAddress
		out.Logs = view.LogsURL(s.View.URL(t.AMHTTPAddress), t.AMContainer, t.User)
		// as Java prints a missing map
		out.BySystem, out.ExportPorts = new(string), "null"
	}
	return out
}

func (s *server) attempts(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	one := []view.App{a}
	s.View.AddAsks(one)
	may := s.Access.MayView(caller(c), a.Rights())
	list, _ := s.View.Attempts(a.ID)
	var out attemptList
	for i := range list {
		var black []string
		if i == len(list)-1 && may {
			black = one[0].Excluded
		}
		out.Attempt = append(out.Attempt, s.attemptInfo(&list[i], black, may))
	}
	return yarnrest.OK("appAttempts", yarnrest.Natural, out), nil
}

// visible finds the application of an attempt or container that the caller may see; what names the thing that the caller asked for.
func (s *server) visible(c *yarnrest.Call, id records.ApplicationID, what string) (view.App, error) {
	a, ok := s.View.App(id)
	if !ok {
		return a, s.absent(yarnrest.NotFoundBy(yarnrest.ApplicationNotFound,
			"Application with id '%v' doesn't exist in RM. Please check that the job submission was successful.", id))
	}
	if !s.Access.MayView(caller(c), a.Rights()) {
		// Hadoop answers with a 503 here, which isn't worth a retry
		return a, &yarnrest.Error{
			Status: http.StatusForbidden, Class: yarnrest.WebApplicationException,
			Message: fmt.Sprintf("%s: User %s does not have privilege to see this %s", yarnrest.YarnException, caller(c), what),
		}
	}
	return a, nil
}

// attemptOf returns the id of the attempt in the path, which must belong to the application in the path.
func attemptOf(c *yarnrest.Call) (id records.AttemptID, err error) {
	app, err := applicationID(c.Var("app"))
	if err != nil {
		return id, err
	}
	if id, err = attemptID(c.Var("attempt")); err != nil {
		return id, err
	}
	if id.App != app {
		return id, yarnrest.NotFound("appId and appAttemptId don't match")
	}
	return id, nil
}

// findAttempt finds the attempt in the path.
func (s *server) findAttempt(c *yarnrest.Call, what string) (*view.Attempt, error) {
	id, err := attemptOf(c)
	if err != nil {
		return nil, err
	}
	if what == "" {
		what = "attempt " + id.String()
	} else {
		what = "application " + id.App.String()
	}
	if _, err := s.visible(c, id.App, what); err != nil {
		return nil, err
	}
	list, _ := s.View.Attempts(id.App)
	i := slices.IndexFunc(list, func(t view.Attempt) bool { return t.ID == id })
	if i < 0 {
		return nil, s.absent(yarnrest.NotFoundBy(yarnrest.ApplicationAttemptAbsent,
			"ApplicationAttempt with id '%v' doesn't exist in RM.", id))
	}
	return &list[i], nil
}

func (s *server) attempt(c *yarnrest.Call) (yarnrest.Reply, error) {
	t, err := s.findAttempt(c, "")
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("appAttempt", yarnrest.Mapped, apphistory.AttemptOf(t)), nil
}

type containerList struct {
	Container []apphistory.Container `yarn:"container"`
}

func (s *server) containerInfo(c *view.Container) apphistory.Container {
	return apphistory.ContainerOf(s.View, s.Types, c, s.Now().UnixMilli())
}

func (s *server) containers(c *yarnrest.Call) (yarnrest.Reply, error) {
	t, err := s.findAttempt(c, "containers")
	if err != nil {
		return yarnrest.Reply{}, err
	}
	list, _ := s.View.Containers(t.ID)
	var out containerList
	for i := range list {
		out.Container = append(out.Container, s.containerInfo(&list[i]))
	}
	return yarnrest.OK("containers", yarnrest.Mapped, out), nil
}

func (s *server) container(c *yarnrest.Call) (yarnrest.Reply, error) {
	found, err := s.namedContainer(c, s.View.Container)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("container", yarnrest.Mapped, s.containerInfo(&found)), nil
}

// namedContainer finds the container in the path, below its attempt.
func (s *server) namedContainer(
	c *yarnrest.Call, find func(records.ContainerID) (view.Container, bool),
) (found view.Container, err error) {
	attempt, err := attemptOf(c)
	if err != nil {
		return found, err
	}
	id, err := containerID(c.Var("container"))
	if err != nil {
		return found, err
	}
	if id.Attempt != attempt {
		return found, yarnrest.NotFound("appAttemptId and containerId don't match")
	}
	if _, err := s.visible(c, id.Attempt.App, "application "+id.Attempt.App.String()); err != nil {
		return found, err
	}
	found, ok := find(id)
	if !ok {
		return found, s.absent(yarnrest.NotFoundBy(yarnrest.ContainerNotFound,
			"Container with id '%v' doesn't exist in RM.", id))
	}
	return found, nil
}

var signalCommands = []string{"OUTPUT_THREAD_DUMP", "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN"}

// signal sends a command to a container. Its answers are plain texts.
func (s *server) signal(c *yarnrest.Call) (yarnrest.Reply, error) {
	if err := noCaller(c); err != nil {
		return yarnrest.Reply{}, err
	}
	command := strings.ToUpper(c.Var("command"))
	if !slices.Contains(signalCommands, command) {
		return yarnrest.Say(http.StatusBadRequest, "Invalid command: %s, valid commands are: [%s]", command,
			strings.Join(signalCommands, ", ")), nil
	}
	id, err := containerID(c.Var("container"))
	if err != nil {
		return yarnrest.Say(http.StatusBadRequest, "Invalid ContainerId prefix: %s", c.Var("container")), nil
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	err = s.Door.Signal(l, s.visits.Caller(c), id, pb.SignalContainerCommand(pb.SignalContainerCommand_value[command]))
	if refusal.Is(err, refusal.NoSuchContainer) {
		return yarnrest.Say(http.StatusNotFound, "%v", err), nil
	}
	if err != nil {
		return s.visits.Refused(c, "signal container", strconv.Quote(id.String()), err)
	}
	return yarnrest.Reply{}, nil
}
