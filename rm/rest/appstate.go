package rest

import (
	"fmt"
	"net/http"
	"strings"

	"heddle/rm/audit"
	"heddle/rm/queue"
	"heddle/rm/view"
	yarnrest "heddle/yarn/rest"
	"heddle/yarn/rest/auth"
)

type appState struct {
	State       string `yarn:"state"`
	Diagnostics string `yarn:"diagnostics,omitempty"`
}

func (s *server) state(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("appstate", yarnrest.Unwrapped, appState{State: stateName(a.State)}), nil
}

// noCaller refuses changes by unknown callers.
func noCaller(c *yarnrest.Call) error {
	if caller(c) == "" {
		return yarnrest.Unauthorized("Unable to obtain user name, user not authenticated")
	}
	return nil
}

// unnamed reports whether the request doesn't say who makes it. Then the caller may be nobody, or hadoop.http.staticuser.user.
func unnamed(c *yarnrest.Call) bool { return auth.From(c.Context()).Method == auth.Unnamed }

// sayWho ends the answers to callers without a name.
const sayWho = "hidden from callers without a name, as yarn.acl.enable is true: say who you are, for instance with ?user.name="

// hidden refuses an unknown caller a list from which things are missing, as they are shown only to users who may see their applications.
func hidden(c *yarnrest.Call, missing int, things string) error {
	if !unnamed(c) || missing == 0 {
		return nil
	}
	return yarnrest.Unauthorized("%d %s are "+sayWho, missing, things)
}

// change reads the wanted change of an application, and finds the application.
func (s *server) change(c *yarnrest.Call, want yarnrest.Target) (view.App, error) {
	if err := c.Decode(want); err != nil {
		return view.App{}, err
	}
	if err := noCaller(c); err != nil {
		return view.App{}, err
	}
	return s.findApp(c)
}

// setState kills an application; clients can't set any other state.
func (s *server) setState(c *yarnrest.Call) (yarnrest.Reply, error) {
	var want appState
	a, err := s.change(c, yarnrest.Target{Root: "appstate", Value: &want})
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if want.State == stateName(a.State) || want.State == "KILLED" && a.State.Ended() {
		return yarnrest.OK("appstate", yarnrest.Unwrapped, appState{State: stateName(a.State)}), nil
	}
	if want.State != "KILLED" {
		return yarnrest.Reply{}, yarnrest.BadRequest("Only '%s' is allowed as a target state.", "KILLED")
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if err := s.Door.Kill(l, s.visits.Caller(c), a.ID, want.Diagnostics); err != nil {
		return s.visits.Refused(c, "kill appid", a.ID, err)
	}
	r := yarnrest.OK("appstate", yarnrest.Unwrapped, appState{State: stateName(a.State)})
	r.Status, r.Location = http.StatusAccepted, c.Self()+c.URL.EscapedPath()
	return r, nil
}

type appQueue struct {
	Queue string `yarn:"queue"`
}

func (s *server) queue(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("appqueue", yarnrest.Unwrapped, appQueue{a.Queue}), nil
}

func (s *server) setQueue(c *yarnrest.Call) (yarnrest.Reply, error) {
	var want appQueue
	a, err := s.change(c, yarnrest.Target{Root: "appqueue", Value: &want})
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if err := s.Door.CheckMove(s.visits.Caller(c), a.ID, want.Queue); err != nil {
		return s.visits.Refused(c, "move appid", a.ID, err)
	}
	if s.Queues.Tree().Kind == queue.FIFO { // every name means its only queue
		if !s.knownQueue(want.Queue) {
			return yarnrest.Reply{}, yarnrest.BadRequest("Target queue %q doesn't exist", want.Queue)
		}
		return yarnrest.OK("appqueue", yarnrest.Unwrapped, appQueue{a.Queue}), nil
	}
	if a.State.Ended() {
		return yarnrest.Say(http.StatusBadRequest, "App in %s state cannot be moved.", stateName(a.State)), nil
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	path, err := s.Door.Move(l, s.visits.Caller(c), a.ID, want.Queue)
	if err != nil {
		return s.visits.Refused(c, "move appid", a.ID, err)
	}
	return yarnrest.OK("appqueue", yarnrest.Unwrapped, appQueue{path}), nil
}

type appPriority struct {
	Priority int32 `yarn:"priority"`
}

func (s *server) priority(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("applicationpriority", yarnrest.Unwrapped, appPriority{a.Priority}), nil
}

func (s *server) setPriority(c *yarnrest.Call) (yarnrest.Reply, error) {
	var want appPriority
	a, err := s.change(c, yarnrest.Target{Root: "applicationpriority", Value: &want})
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if _, err := s.Door.Check(s.visits.Caller(c), audit.UpdatePriority, a.ID); err != nil {
		return s.visits.Refused(c, "change priority of appid", a.ID, err)
	}
	if a.State.Ended() || want.Priority == a.Priority {
		return yarnrest.OK("applicationpriority", yarnrest.Unwrapped, appPriority{a.Priority}), nil
	}
	if s.Queues.Tree().Kind == queue.Fair {
		return yarnrest.Reply{}, yarnrest.BadRequest("Fair Scheduler does not support to set application priority")
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	p, err := s.Door.SetPriority(l, s.visits.Caller(c), a.ID, want.Priority)
	if err != nil {
		return s.visits.Refused(c, "change priority of appid", a.ID, err)
	}
	return yarnrest.OK("applicationpriority", yarnrest.Unwrapped, appPriority{p}), nil
}

func (s *server) timeouts(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("timeouts", yarnrest.Natural, timeouts{[]timeout{s.lifetime(&a)}}), nil
}

func (s *server) timeoutOf(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if kind := c.Var("type"); !strings.EqualFold(kind, lifetime) {
		return yarnrest.Reply{}, yarnrest.BadRequest("Invalid application-state %s specified. It should be one of [%s]", kind, lifetime)
	}
	return yarnrest.OK("timeout", yarnrest.Natural, s.lifetime(&a)), nil
}

func (s *server) setTimeout(c *yarnrest.Call) (yarnrest.Reply, error) {
	want := timeout{Expires: "UNLIMITED"}
	a, err := s.change(c, yarnrest.Target{Root: "timeout", Wrapped: true, Value: &want})
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if _, err := s.Door.Check(s.visits.Caller(c), audit.UpdateTimeouts, a.ID); err != nil {
		return s.visits.Refused(c, "change timeout of app", a.ID, err)
	}
	if want.Type != lifetime || want.Expires == "" {
		return yarnrest.Say(http.StatusBadRequest, "Timeout type or ExpiryTime is null."), nil
	}
	if a.State.Ended() {
		return yarnrest.OK("timeout", yarnrest.Natural, s.lifetime(&a)), nil
	}
	at, err := view.ParseTime(want.Expires)
	if err != nil {
		return yarnrest.Reply{}, &yarnrest.Error{
			Status: http.StatusBadRequest, Class: "java.time.format.DateTimeParseException",
			Message: fmt.Sprintf("Text '%s' could not be parsed at index 0", want.Expires),
		}
	}
	if !at.After(s.Now()) {
		return yarnrest.Reply{}, yarnrest.BadRequest("Expire time is less than current time, current-time=%s expire-time=%s",
			view.FormatTime(s.Now()), want.Expires)
	}
	l, err := s.leader()
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if a.Expires, err = s.Door.SetExpiry(l, s.visits.Caller(c), a.ID, at.UnixMilli()); err != nil {
		return s.visits.Refused(c, "change timeout of app", a.ID, err)
	}
	return yarnrest.OK("timeout", yarnrest.Natural, s.lifetime(&a)), nil
}
