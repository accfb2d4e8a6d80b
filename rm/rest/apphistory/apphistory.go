// Package apphistory answers the paths at which a timeline server shows applications that may have ended (Hadoop: AHSWebServices), from what the
// ResourceManager still knows of them. So scripts, pages and YARN's commands find ended applications on a cluster without such a server.
package apphistory

import (
	"iter"
	"net/http"
	"slices"

	"heddle/conf"
	"heddle/rm/view"
	"heddle/rm/view/past"
	"heddle/yarn/records"
	yarnrest "heddle/yarn/rest"
)

// Base begins the paths.
const Base = "/ws/v1/applicationhistory"

// Config gives a Service what its web port has. Functions that find refuse callers who may not see what they find.
type Config struct {
	View  *view.Viewer
	Types records.ResourceTypes
	// Apps returns the applications that a query selects and the caller may see in full.
	Apps func(*yarnrest.Call) (iter.Seq[*view.App], error)
	// App, Attempt and Container find what the path names; Attempt says in refusals that it is about what.
	App       func(*yarnrest.Call) (view.App, error)
	Attempt   func(c *yarnrest.Call, what string) (*view.Attempt, error)
	Container func(c *yarnrest.Call, find func(records.ContainerID) (view.Container, bool)) (view.Container, error)
}

// Route adds the paths.
func Route(api *yarnrest.API, cfg Config) {
	s := &service{cfg}
	get := func(path string, large bool, h yarnrest.Handler) {
		api.Handle(Base+path, yarnrest.Methods{http.MethodGet: {Handle: h, Large: large}})
	}
	get("", false, s.about)
	get("/about", false, s.about)
	get("/apps", true, s.apps)
	get("/apps/{app}", false, s.app)
	get("/apps/{app}/appattempts", false, s.attempts)
	get("/apps/{app}/appattempts/{attempt}", false, s.attempt)
	get("/apps/{app}/appattempts/{attempt}/containers", true, s.containers)
	get("/apps/{app}/appattempts/{attempt}/containers/{container}", false, s.container)
}

type service struct{ Config }

type about struct {
	About         string `yarn:"About"`
	Version       string `yarn:"timeline-service-version"`
	BuildVersion  string `yarn:"timeline-service-build-version"`
	BuiltOn       string `yarn:"timeline-service-version-built-on"`
	HadoopVersion string `yarn:"hadoop-version"`
	HadoopBuild   string `yarn:"hadoop-build-version"`
	HadoopBuiltOn string `yarn:"hadoop-version-built-on"`
}

func (s *service) about(*yarnrest.Call) (yarnrest.Reply, error) {
	build := conf.HadoopVersion + " from heddle " + conf.Version
	return yarnrest.OK("about", yarnrest.Unwrapped, about{
		"Generic History Service API", conf.HadoopVersion, build, conf.Built, conf.HadoopVersion, build, conf.Built,
	}), nil
}

type apps struct {
	App iter.Seq[app] `yarn:"app"`
}

func (s *service) apps(c *yarnrest.Call) (yarnrest.Reply, error) {
	list, err := s.Apps(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("apps", yarnrest.Unwrapped, apps{func(yield func(app) bool) {
		for a := range list {
			if !yield(s.appOf(a)) {
				return
			}
		}
	}}), nil
}

func (s *service) app(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.App(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("app", yarnrest.Unwrapped, s.appOf(&a)), nil
}

type attempts struct {
	Attempt []Attempt `yarn:"appAttempt"`
}

func (s *service) attempts(c *yarnrest.Call) (yarnrest.Reply, error) {
	a, err := s.App(c)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	list, _ := s.View.Attempts(a.ID)
	var out attempts
	for i := range list {
		out.Attempt = append(out.Attempt, s.attemptOf(&list[i]))
	}
	return yarnrest.OK("appAttempts", yarnrest.Unwrapped, out), nil
}

func (s *service) attempt(c *yarnrest.Call) (yarnrest.Reply, error) {
	t, err := s.Attempt(c, "")
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("appAttempt", yarnrest.Unwrapped, s.attemptOf(t)), nil
}

type containers struct {
	Container []Container `yarn:"container"`
}

func (s *service) containers(c *yarnrest.Call) (yarnrest.Reply, error) {
	t, err := s.Attempt(c, "containers")
	if err != nil {
		return yarnrest.Reply{}, err
	}
	list, _ := past.Containers(s.View, t.ID)
	var out containers
	for i := range slices.Backward(list) { // the newest first
		out.Container = append(out.Container, s.containerOf(&list[i], c.Format))
	}
	return yarnrest.OK("containers", yarnrest.Unwrapped, out), nil
}

func (s *service) container(c *yarnrest.Call) (yarnrest.Reply, error) {
	found, err := s.Container(c, func(id records.ContainerID) (view.Container, bool) {
		return past.Container(s.View, id)
	})
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return yarnrest.OK("container", yarnrest.Unwrapped, s.containerOf(&found, c.Format)), nil
}
