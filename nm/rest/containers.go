package rest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/nm/container"
	"heddle/nm/suspend"
	"heddle/yarn/rest"
)

type containerInfo struct {
	ID            string   `yarn:"id"`
	State         string   `yarn:"state"`
	ExitCode      int      `yarn:"exitCode"`
	Diagnostics   string   `yarn:"diagnostics"`
	User          string   `yarn:"user"`
	MemoryMB      int64    `yarn:"totalMemoryNeededMB"`
	VCores        int64    `yarn:"totalVCoresNeeded"`
	ExecutionType string   `yarn:"executionType"`
	LogsLink      string   `yarn:"containerLogsLink"`
	Node          string   `yarn:"nodeId"`
	LogFiles      []string `yarn:"containerLogFiles"`
}

type containerList struct {
	Containers []containerInfo `yarn:"container"`
}

func (s *Server) containerInfo(c *rest.Call, at *container.Container) containerInfo {
	st := at.Status()
	g := st.Grant
	i := containerInfo{
		ID: g.ID.String(), State: st.State.String(), ExitCode: st.ExitCode, Diagnostics: st.Diagnostics, User: g.User,
		MemoryMB: g.Resource.MemoryMB(), VCores: g.Resource.VCores(), ExecutionType: g.ExecutionType.String(),
		LogsLink: c.Self() + "/node/containerlogs/" + g.ID.String() + "/" + g.User, Node: s.Node.String(),
	}
	app, ok := s.Containers.Application(g.ID.Attempt.App)
	if !s.mayDiagnose(c.Request, app, ok) {
		i.Diagnostics = ""
	}
	if ok && s.mayView(c.Request, app) {
		if files, err := s.Logs.List(g.ID); err == nil {
			for _, f := range files {
				i.LogFiles = append(i.LogFiles, f.Name)
			}
		}
	}
	return i
}

func (s *Server) containers(c *rest.Call) (rest.Reply, error) {
	var out containerList
	for _, at := range s.Containers.Containers() {
		out.Containers = append(out.Containers, s.containerInfo(c, at))
	}
	return rest.OK("containers", rest.Natural, out), nil
}

// find returns the container named in the path.
func (s *Server) find(c *rest.Call) (*container.Container, error) {
	id, err := parseContainer(c.Var("container"))
	if err != nil {
		return nil, err
	}
	at, err := s.Containers.Container(id)
	if err != nil {
		return nil, rest.NotFound("container with id, %s, not found", c.Var("container"))
	}
	return at, nil
}

func (s *Server) container(c *rest.Call) (rest.Reply, error) {
	at, err := s.find(c)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK("container", rest.Natural, s.containerInfo(c, at)), nil
}

// detail has what Heddle knows of a container beyond YARN. Times are ms since 1970, 0 for steps that have not happened.
type detail struct {
	ID         string  `yarn:"id"`
	App        string  `yarn:"applicationId"`
	User       string  `yarn:"user"`
	State      string  `yarn:"state"`
	Suspended  bool    `yarn:"suspended"`
	ExitCode   int     `yarn:"exitCode"`
	MemoryMB   int64   `yarn:"memoryMB"`
	VCores     int64   `yarn:"vCores"`
	PID        int     `yarn:"pid,omitempty"`
	Accepted   int64   `yarn:"acceptedTime"`
	Launched   int64   `yarn:"launchedTime"`
	Finished   int64   `yarn:"finishedTime"`
	CPU        float64 `yarn:"cpuCores"`
	CPUTime    int64   `yarn:"cpuTimeMs"`
	UsedMemory int64   `yarn:"memoryBytes"`
	PeakMemory int64   `yarn:"peakMemoryBytes"`

	// How far it is with what was taken from it. A running container has level and wantedLevel running.
	Level       string `yarn:"level"`
	Wanted      string `yarn:"wantedLevel"`
	HeldMB      int64  `yarn:"heldMemoryMB"`
	HeldVCores  int64  `yarn:"heldVCores"`
	Swapped     int64  `yarn:"swappedBytes"`
	Since       int64  `yarn:"levelTime"`
	LastBreath  int64  `yarn:"lastBreathTime"`
	BreathEvery int64  `yarn:"breathEveryMs"`
	Breathed    int64  `yarn:"lastBreathMs"` // how long the last breath was
	For         string `yarn:"suspendedFor,omitempty"`
	Reason      string `yarn:"levelReason,omitempty"`
}

type detailList struct {
	Containers []detail `yarn:"container"`
}

func detailOf(at *container.Container) detail {
	s := at.Status()
	ms := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixMilli()
	}
	return detail{
		ID: s.Grant.ID.String(), App: s.Grant.ID.Attempt.App.String(), User: s.Grant.User, State: s.State.String(),
		Suspended: s.Suspended,
		ExitCode:  s.ExitCode, MemoryMB: s.Grant.Resource.MemoryMB(), VCores: s.Grant.Resource.VCores(), PID: s.PID,
		Accepted: ms(s.Started), Launched: ms(s.Launched), Finished: ms(s.Finished),
		Level: s.Suspension.Have.String(), Wanted: s.Suspension.Level.String(),
		HeldMB: s.Suspension.Holds.MemoryMB(), HeldVCores: s.Suspension.Holds.VCores(), Swapped: s.Suspension.Swapped,
		Since: ms(s.Suspension.Since), LastBreath: ms(s.Suspension.LastBreath),
		BreathEvery: s.Suspension.BreathEvery.Milliseconds(),
		Breathed:    s.Suspension.Breathed.Milliseconds(),
		For:         s.Suspension.For, Reason: s.Suspension.Reason,
		CPU: s.Usage.CPU, CPUTime: s.Usage.CPUTime.Milliseconds(), UsedMemory: s.Usage.Physical, PeakMemory: s.Usage.Peak,
	}
}

func (s *Server) details(*rest.Call) (rest.Reply, error) {
	var out detailList
	for _, at := range s.Containers.Containers() {
		out.Containers = append(out.Containers, detailOf(at))
	}
	return rest.OK("containers", rest.Natural, out), nil
}

func (s *Server) detail(c *rest.Call) (rest.Reply, error) {
	at, err := s.find(c)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK("container", rest.Natural, detailOf(at)), nil
}

// suspend takes the level (frozen, if none is given) and the time between two breaths (never) as parameters.
func (s *Server) suspend(c *rest.Call) (rest.Reply, error) {
	q := c.Request.URL.Query()
	level, every := suspend.Frozen, time.Duration(0)
	var err error
	if text := q.Get("level"); text != "" {
		if level, err = suspend.ParseLevel(text); err == nil && level == suspend.Running {
			err = errors.New("level running is what resume brings a container to")
		}
	}
	if text := q.Get("breathe"); err == nil && text != "" && text != "never" {
		if every, err = time.ParseDuration(text); err != nil || every < suspend.ShortestPeriod {
			err = fmt.Errorf("breathe %q is neither never nor a duration of at least %v, such as 45s", text,
				suspend.ShortestPeriod)
		}
	}
	if err != nil {
		return rest.Reply{}, rest.BadRequest("suspend container %s: %v", c.Var("container"), err)
	}
	return s.control(c, "suspend", func(at *container.Container, ctx context.Context) error { return at.SuspendTo(ctx, level, every) })
}

func (s *Server) resume(c *rest.Call) (rest.Reply, error) {
	return s.control(c, "resume", (*container.Container).Resume)
}

// control changes a container, and answers with its new state.
func (s *Server) control(c *rest.Call, what string, do func(*container.Container, context.Context) error) (rest.Reply, error) {
	at, err := s.find(c)
	if err != nil {
		return rest.Reply{}, err
	}
	app, ok := s.Containers.Application(at.ID().Attempt.App)
	if !ok {
		return rest.Reply{}, rest.NotFound("application %s of container %s is no longer on this node", at.ID().Attempt.App,
			at.ID())
	}
	if !s.mayModify(c.Request, app) {
		subject := "User " + caller(c.Request)
		if caller(c.Request) == "" {
			subject = "Requests without user.name"
		}
		return rest.Reply{}, rest.Forbidden("%s may not %s container %s: only its owner %s, users on the application's modify ACL, and administrators may", subject, what, at.ID(), app.User)
	}
	ctx, cancel := context.WithTimeout(c.Context(), s.SuspendTimeout)
	defer cancel()
	err = do(at, ctx)
	s.Log.WithField("container", at.ID().String()).WithField("user",
		caller(c.Request)).WithError(err).Infof("asked over REST to %s", what)
	switch {
	case errors.Is(err, container.ErrNotRunning), errors.Is(err, container.ErrNotSuspended), errors.Is(err, container.ErrCannot):
		return rest.Reply{}, conflict(err)
	case err != nil:
		return rest.Reply{}, err
	}
	return rest.OK("container", rest.Natural, detailOf(at)), nil
}
