// Package timelinereader answers the paths at which clients ask a reader of timeline version 2 about ended applications, their attempts and containers (Hadoop:
// TimelineReaderWebServices, as AHSv2ClientImpl calls it), from what the ResourceManager still knows of them. What ApplicationMasters publish isn't there.
package timelinereader

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/rm/timelineservice"
	"heddle/rm/view"
	"heddle/yarn/flow"
	yarnrest "heddle/yarn/rest"
)

const base = "/ws/v2/timeline"

// Config gives a Service what its web port has.
type Config struct {
	View *view.Viewer
	// App returns the application in the path, if the caller may see it.
	App func(*yarnrest.Call) (view.App, error)
}

// Route adds the paths.
func Route(api *yarnrest.API, cfg Config) {
	get := func(path string, large bool, h yarnrest.Handler) {
		e := yarnrest.Endpoint{Handle: h, Large: large, Gives: []yarnrest.Format{yarnrest.JSON}}
		api.Handle(path, yarnrest.Methods{http.MethodGet: e})
	}
	get(base, false, about)
	get(base+"/about", false, about)
	for _, prefix := range []string{"", "/clusters/{cluster}"} {
		app := base + prefix + "/apps/{app}"
		get(app, false, cfg.app)
		get(app+"/entities/{type}", true, cfg.entities)
		get(app+"/entities/{type}/{entity}", false, cfg.entity)
	}
}

func about(*yarnrest.Call) (yarnrest.Reply, error) {
	build := conf.HadoopVersion + " from heddle " + conf.Version
	return encoded(map[string]string{
		"About": "Timeline Reader API", "timeline-service-version": conf.HadoopVersion,
		"timeline-service-build-version": build, "timeline-service-version-built-on": conf.Built,
		"hadoop-version": conf.HadoopVersion, "hadoop-build-version": build, "hadoop-version-built-on": conf.Built,
	})
}

func encoded(v any) (yarnrest.Reply, error) {
	b, err := json.Marshal(v)
	return yarnrest.Reply{Encoded: yarnrest.Body{b}}, err
}

func (cfg Config) app(c *yarnrest.Call) (yarnrest.Reply, error) {
	return cfg.one(c, timelineservice.Wanted{Type: "YARN_APPLICATION", Limit: 1})
}

func (cfg Config) entity(c *yarnrest.Call) (yarnrest.Reply, error) {
	return cfg.one(c, timelineservice.Wanted{Type: c.Var("type"), ID: c.Var("entity"), Limit: 1})
}

func (cfg Config) one(c *yarnrest.Call, w timelineservice.Wanted) (yarnrest.Reply, error) {
	list, err := cfg.known(c, w)
	if err == nil && len(list) == 0 {
		err = yarnrest.NotFound("Timeline entity {id: %s, type: %s } is not found", w.ID, w.Type)
	}
	if err != nil {
		return yarnrest.Reply{}, err
	}
	return encoded(shown(list[0], fieldsOf(c)))
}

// maxEntities is how many entities a list has at most, unless the client says otherwise (Hadoop: TimelineEntityFilters.DEFAULT_LIMIT).
const maxEntities = 100

func (cfg Config) entities(c *yarnrest.Call) (yarnrest.Reply, error) {
	w := timelineservice.Wanted{Type: c.Var("type"), Limit: maxEntities}
	if text := c.Query().Get("limit"); text != "" {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return yarnrest.Reply{}, yarnrest.BadRequest("limit is not a number: %.100q", text)
		}
		w.Limit = int(n)
	}
	for name := range c.Query() {
		if strings.HasSuffix(name, "filters") && name != "infofilters" || slices.Contains(refused, name) {
			return yarnrest.Reply{}, yarnrest.BadRequest("%.100q is not supported by a ResourceManager", name)
		}
	}
	var err error
	if w.Attempt, err = parseAttempt(c.Query().Get("infofilters")); err != nil {
		return yarnrest.Reply{}, err
	}
	list, err := cfg.known(c, w)
	if err != nil {
		return yarnrest.Reply{}, err
	}
	fields, out := fieldsOf(c), make([]entity, len(list))
	for i := range list {
		out[i] = shown(list[i], fields)
	}
	return encoded(out)
}

var refused = []string{"relatesto", "isrelatedto", "fromid", "createdtimestart", "createdtimeend"}

func (cfg Config) known(c *yarnrest.Call, w timelineservice.Wanted) ([]flow.Entity, error) {
	a, err := cfg.App(c)
	if err != nil {
		return nil, err
	}
	return timelineservice.Known(cfg.View, a.ID, w), nil
}

// parseAttempt reads of which attempt a client wants containers, from its filter; "" is any. Other filters are refused.
func parseAttempt(filter string) (string, error) {
	if filter == "" {
		return "", nil
	}
	text, ok := strings.CutPrefix(filter, "SYSTEM_INFO_PARENT_ENTITY eq ")
	var parent struct{ ID, Type string }
	if err := json.Unmarshal([]byte(text), &parent); !ok || err != nil || parent.ID == "" ||
		parent.Type != "YARN_APPLICATION_ATTEMPT" {
		return "", yarnrest.BadRequest("infofilters other than one attempt as SYSTEM_INFO_PARENT_ENTITY " +
			"are not supported by a ResourceManager")
	}
	return parent.ID, nil
}

// entity is an entity as a reader shows it.
type entity struct {
	Metrics   []flow.Metric     `json:"metrics"`
	Events    []flow.Event      `json:"events"`
	Created   int64             `json:"createdtime"`
	Prefix    int64             `json:"idprefix"`
	IsRelated struct{}          `json:"isrelatedto"`
	Relates   struct{}          `json:"relatesto"`
	Type      string            `json:"type"`
	ID        string            `json:"id"`
	Info      map[string]any    `json:"info"`
	Configs   map[string]string `json:"configs"`
}

// fieldsOf returns a function that reports whether a client wants a field.
func fieldsOf(c *yarnrest.Call) func(name string) bool {
	fields := strings.Split(strings.ToUpper(c.Query().Get("fields")), ",")
	return func(name string) bool { return slices.Contains(fields, "ALL") || slices.Contains(fields, name) }
}

func shown(e flow.Entity, wanted func(name string) bool) entity {
	out := entity{
		Metrics: []flow.Metric{}, Events: []flow.Event{}, Created: e.Created, Prefix: e.Prefix, Type: e.Type,
		ID: e.ID, Info: map[string]any{}, Configs: map[string]string{},
	}
	if wanted("INFO") {
		out.Info = e.Info
	}
	if wanted("EVENTS") {
		out.Events = e.Events
	}
	if wanted("METRICS") && e.Metrics != nil {
		out.Metrics = e.Metrics
	}
	if wanted("CONFIGS") && e.Configs != nil {
		out.Configs = e.Configs
	}
	return out
}
