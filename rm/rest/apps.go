package rest

import (
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/rm/queue"
	"heddle/rm/view"
	"heddle/yarn/pb"
	yarnrest "heddle/yarn/rest"
)

func (s *server) routeApps(api *yarnrest.API) {
	base := clusterBase + "/apps"
	get := func(path string, h yarnrest.Handler) {
		api.Handle(base+path, yarnrest.Methods{http.MethodGet: {Handle: h}})
	}
	change := func(path string, read, write yarnrest.Handler) {
		m := yarnrest.Methods{http.MethodPut: {Handle: write, Takes: yarnrest.TakesDocument}}
		if read != nil {
			m[http.MethodGet] = yarnrest.Endpoint{Handle: read}
		}
		api.Handle(base+path, m)
	}
	api.Handle(base, yarnrest.Methods{
		http.MethodGet:  {Handle: s.apps, Large: true},
		http.MethodPost: {Handle: s.submit, Takes: yarnrest.TakesDocument},
	})
	api.Handle(base+"/new-application", yarnrest.Methods{http.MethodPost: {Handle: s.newApplication}})
	get("/{app}", s.app)
	change("/{app}/state", s.state, s.setState)
	change("/{app}/queue", s.queue, s.setQueue)
	change("/{app}/priority", s.priority, s.setPriority)
	change("/{app}/timeout", nil, s.setTimeout)
	get("/{app}/timeouts", s.timeouts)
	get("/{app}/timeouts/{type}", s.timeoutOf)
	get("/{app}/appattempts", s.attempts)
	get("/{app}/appattempts/{attempt}", s.attempt)
	api.Handle(base+"/{app}/appattempts/{attempt}/containers", yarnrest.Methods{http.MethodGet: {Handle: s.containers, Large: true}})
	get("/{app}/appattempts/{attempt}/containers/{container}", s.container)
	api.Handle(clusterBase+"/containers/{container}/signal/{command}", yarnrest.Methods{http.MethodPost: {Handle: s.signal}})
}

type appList struct {
	App iter.Seq[appInfo] `yarn:"app"`
}

func (s *server) apps(c *yarnrest.Call) (yarnrest.Reply, error) {
	f, without, err := s.appFilter(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("apps", yarnrest.Natural, appList{s.shownApps(c, f, without)}), nil
}

// shownApps returns the applications that a filter admits, the newest first, without those that the caller may not know of. It ends early if the
// client leaves.
func (s *server) shownApps(c *yarnrest.Call, f view.Filter, without deselected) iter.Seq[appInfo] {
	onlyOwn := s.Conf.Bool("yarn.webapp.filter-entity-list-by-user")
	return func(yield func(appInfo) bool) {
		for a := range s.View.Each(f, s.View.AddAsks, s.View.AddDiagnostics) {
			may := s.Access.MayView(caller(c), a.Rights())
			if (may || !onlyOwn) && !yield(s.appInfo(a, may, without)) || c.Context().Err() != nil {
				return
			}
		}
	}
}

// appStates are the states of applications, in the order in which YARN lists them to clients.
var appStates = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING", "FINISHED", "FAILED", "KILLED"}

// deselectable are the parts of an application that clients can deselect.
var deselectable = []string{"resourceRequests", "timeouts", "appNodeLabelExpression", "amNodeLabelExpression", "resourceInfo"}

// values collects a parameter that may occur several times, each time as a list.
func values(c *yarnrest.Call, name string) (out []string) {
	for _, list := range c.Query()[name] {
		for v := range strings.SplitSeq(list, ",") {
			if v = strings.TrimSpace(v); v != "" {
				out = append(out, v)
			}
		}
	}
	return out
}

// parseStates reads names of application states, in upper or lower case.
func parseStates(names []string) (states []pb.YarnApplicationState, err error) {
	for _, name := range names {
		upper := strings.ToUpper(name)
		if !slices.Contains(appStates, upper) {
			return nil, yarnrest.BadRequest("Invalid application-state %s specified. It should be one of [%s]",
				name, strings.Join(appStates, ", "))
		}
		states = append(states, pb.YarnApplicationState(pb.YarnApplicationState_value[upper]))
	}
	return states, nil
}

// appFilter reads which applications a client wants, and which parts of them it deselects.
func (s *server) appFilter(c *yarnrest.Call) (f view.Filter, without deselected, err error) {
	q := c.Query()
	f = view.Filter{Types: values(c, "applicationTypes"), Tags: values(c, "applicationTags")}
	if q.Has("name") { // an empty name counts too
		name := q.Get("name")
		f.Name = &name
	}
	if v := q.Get("finalStatus"); v != "" {
		status, ok := finalStatus(v)
		if !ok {
			return f, nil, noEnum("org.apache.hadoop.yarn.api.records.FinalApplicationStatus", v)
		}
		f.FinalStatuses = []pb.FinalApplicationStatus{status}
	}
	if v := q.Get("user"); v != "" {
		f.Users = []string{v}
	}
	if v := q.Get("queue"); v != "" {
		if s.Queues.Tree().Kind == queue.Capacity && !s.knownQueue(v) {
			return f, nil, yarnrest.BadRequest("Unknown queue: %s", v)
		}
		f.Queues = []string{s.Queues.Tree().Path(v)}
	}
	if v := q.Get("limit"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil:
			return f, nil, yarnrest.BadRequest("limit value must be a number!")
		case n <= 0:
			return f, nil, yarnrest.BadRequest("limit value must be greater then 0")
		}
		f.Limit = n
	}
	if f.Started, err = timeRange(c, "startedTime", "startedTime", "startTime"); err != nil {
		return f, nil, err
	}
	if f.Finished, err = timeRange(c, "finishedTime", "finishTime", "finishTime"); err != nil {
		return f, nil, err
	}
	if f.States, err = parseStates(append(values(c, "states"), values(c, "state")...)); err != nil {
		return f, nil, err
	}
	without, err = deselects(c)
	return f, without, err
}

func (s *server) knownQueue(name string) bool {
	_, ok := s.Queues.Tree().Find(name)
	return ok
}

// finalStatus reads the name of a final status, which must be in upper case.
func finalStatus(name string) (pb.FinalApplicationStatus, bool) {
	n, ok := pb.FinalApplicationStatus_value["APP_"+name]
	if !ok {
		n, ok = pb.FinalApplicationStatus_value[name]
	}
	return pb.FinalApplicationStatus(n), ok
}

// timeRange reads a range of times. Hadoop's wordings name the bounds differently.
func timeRange(c *yarnrest.Call, name, negative, reversed string) (r view.Range, err error) {
	for _, bound := range []struct {
		suffix string
		to     *int64
	}{{"Begin", &r.Begin}, {"End", &r.End}} {
		v := c.Query().Get(name + bound.suffix)
		if v == "" {
			continue
		}
		n, err := strconv.ParseInt(v, 10, 64)
		switch {
		case err != nil:
			return r, yarnrest.BadRequest("%s%s value must be a number!", name, bound.suffix)
		case n < 0:
			return r, yarnrest.BadRequest("%s%s must be greater than 0", negative, bound.suffix)
		}
		*bound.to = n
	}
	if r.End > 0 && r.Begin > r.End {
		return r, yarnrest.BadRequest("%sEnd must be greater than %sBegin", negative, reversed)
	}
	return r, nil
}

func deselects(c *yarnrest.Call) (deselected, error) {
	out := deselected{}
	for _, name := range values(c, "deSelects") {
		i := slices.IndexFunc(deselectable, func(d string) bool { return strings.EqualFold(d, name) })
		if i < 0 {
			return nil, yarnrest.BadRequest("Invalid deSelects string %s specified. It should be one of [%s]",
				name, strings.Join(deselectable, ", "))
		}
		out[deselectable[i]] = true
	}
	return out, nil
}

func (s *server) app(c *yarnrest.Call) (yarnrest.Reply, error) {
	without, err := deselects(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	a, err := s.findApp(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	one := []view.App{a}
	s.View.AddAsks(one)
	s.View.AddDiagnostics(one)
	return yarnrest.OK("app", yarnrest.Natural, s.appInfo(&one[0], s.Access.MayView(caller(c), a.Rights()), without)), nil
}

type statistics struct {
	Items []statistic `yarn:"statItem"`
}

type statistic struct {
	State string `yarn:"state"`
	Type  string `yarn:"type"`
	Count int    `yarn:"count"`
}

// statistics counts applications by state, of one type or of all.
func (s *server) statistics(c *yarnrest.Call) (yarnrest.Reply, error) {
	states, err := parseStates(values(c, "states"))
	if err != nil {
		return yarnrest.Reply{}, err
	}
	if len(states) == 0 {
		for _, name := range appStates {
			states = append(states, pb.YarnApplicationState(pb.YarnApplicationState_value[name]))
		}
	}
	kind, types := "*", values(c, "applicationTypes")
	switch {
	case len(types) > 1:
		return yarnrest.Reply{}, yarnrest.BadRequest("# of applicationTypes = %d, we temporarily support at most one applicationType",
			len(types))
	case len(types) == 1:
		kind = strings.ToLower(types[0])
	}
	counts := map[pb.YarnApplicationState]int{}
	for a := range s.View.Each(view.Filter{States: states, Types: types}) {
		counts[a.State.Public()]++
	}
	var out statistics
	for _, state := range states {
		out.Items = append(out.Items, statistic{state.String(), kind, counts[state]})
	}
	return yarnrest.OK("appStatInfo", yarnrest.Natural, out), nil
}
