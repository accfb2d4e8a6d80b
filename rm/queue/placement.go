package queue

import (
	"fmt"
	"slices"
	"strings"

	"heddle/conf"
)

// Placement decides which queue an application goes to.
type Placement struct {
	mappings []mapping // of a Capacity tree
	// override applies the mappings also to applications that name a queue.
	override bool
	rules    []fairRule // of a Fair tree
}

// App is what the placement of an application depends on.
type App struct {
	ID    string // for messages
	Name  string
	Queue string // as the client gives it; "" is default
	User  string
}

// Refusal says why an application can't have the queue that it asks for, in Hadoop's wording.
type Refusal struct {
	Text string
	// Fails says that the application is accepted, and fails at once with the text as its diagnostics. Otherwise the submission
	// itself is refused.
	Fails bool
}

func (r *Refusal) Error() string { return r.Text }

func fails(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...), true} }

// accessControl begins Hadoop's diagnostics of an application that a queue doesn't admit.
const accessControl = "org.apache.hadoop.security.AccessControlException: "

// Place finds the leaf that an application goes to, by the tree's mappings or rules, and returns its path. In a Fair tree
// that leaf may not exist yet. The error is a *Refusal; path is set as far as it is known.
func (t *Tree) Place(app App, groups func(user string) ([]string, error)) (path string, err error) {
	if app.Queue == "" {
		app.Queue = "default"
	}
	switch t.Kind {
	case FIFO:
		return app.Queue, nil
	case Fair:
		return t.placeFair(app, groups)
	}
	name := app.Queue
	if place := &t.Settings.Placement; len(place.mappings) > 0 && (name == "default" || place.override) {
		if name, err = t.mapped(app, groups); err != nil {
			return app.Queue, err
		}
	}
	q, ok := t.Find(name)
	if ok {
		q = q.Entrance()
	}
	switch {
	case !ok && len(t.byName[name]) > 1:
		return name, fails("Application %s submitted by user %s to ambiguous queue: %s please use full queue path instead.", app.ID, app.User, name)
	case !ok:
		return name, fails("Application %s submitted by user %s to unknown queue: %s", app.ID, app.User, conf.Shorten(name))
	case !q.Leaf():
		return q.Path, fails("Application %s submitted by user : %s to non-leaf queue : %s", app.ID, app.User, name)
	}
	return q.Path, q.Admits(app)
}

// Admits refuses applications if the queue is stopped.
func (q *Queue) Admits(app App) error {
	if q.Stopped {
		return fails(accessControl+"Queue %s is STOPPED. Cannot accept submission of application: %s", q.Path, app.ID)
	}
	return nil
}

// Full refuses an application if there are too many live ones: in the whole tree (all), in the queue, or of the user in
// the queue. share is the queue's share from Effective.
func (t *Tree) Full(q *Queue, share Share, app App, all, inQueue, ofUser int) error {
	switch {
	case t.Kind != Capacity:
		return nil
	case q.clusterLimit > 0 && all >= int(q.clusterLimit):
		return fails("Maximum system application limit reached,cannot accept submission of application: %s", app.ID)
	case inQueue >= int(share.MaxApplications):
		return fails(accessControl+"Queue %s already has %d applications, cannot accept submission of application: %s", q.Path, inQueue, app.ID)
	case ofUser >= int(share.MaxApplicationsPerUser):
		return fails(accessControl+"Queue %s already has %d applications from user %s cannot accept submission of application: %s",
			q.Path, ofUser, app.User, app.ID)
	}
	return nil
}

// mapping sends applications to a queue, by user, group or name (Hadoop: MappingRule).
type mapping struct {
	kind, source, queue string // kind is u, g or a
}

// placement reads queue-mappings. Queues without variables must exist.
func (p *parser) placement(t *Tree) (out Placement) {
	out.override = p.truth("queue-mappings-override.enable", false)
	rules := strings.ToLower(p.conf.Text("yarn.scheduler.queue-placement-rules"))
	for rule := range strings.SplitSeq(rules, ",") {
		if rule = strings.TrimSpace(rule); rule != "" && rule != "user-group" && rule != "app-name" && !strings.HasSuffix(rule, "placementrule") {
			p.problem(conf.Warning, "yarn.scheduler.queue-placement-rules", rule, "is unknown: Heddle has user-group and app-name")
		}
	}
	const key = "queue-mappings"
	for _, text := range conf.ParseList(p.settings[key]) {
		parts := strings.Split(text, ":")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if len(parts) != 3 || slices.Contains(parts, "") || parts[0] != "u" && parts[0] != "g" {
			p.fail(key, text, "a mapping is u:user:queue or g:group:queue")
			continue
		}
		m := mapping{parts[0], parts[1], parts[2]}
		p.mappable(t, Prefix+key, text, m.queue)
		out.mappings = append(out.mappings, m)
	}
	const byName = "yarn.scheduler.queue-placement-rules.app-name"
	names, _ := p.conf.Get(byName)
	for _, text := range conf.ParseList(names) {
		source, queue, ok := strings.Cut(text, ":")
		m := mapping{"a", strings.TrimSpace(source), strings.TrimSpace(queue)}
		if !ok || m.source == "" || m.queue == "" || strings.Contains(m.queue, ":") {
			p.failed[byName] = true
			p.problem(conf.Error, byName, text, "a mapping is application:queue")
			continue
		}
		p.mappable(t, byName, text, m.queue)
		out.mappings = append(out.mappings, m)
	}
	return out
}

// mappable checks the queue of a mapping without variables.
func (p *parser) mappable(t *Tree, key, text, queue string) {
	reason := ""
	if parent, _, ok := cutLast(queue); strings.Contains(queue, "%") {
		if q, known := t.Find(parent); ok && !strings.Contains(parent, "%") && (!known || q.Leaf()) {
			reason = fmt.Sprintf("there is no queue %s with others below it", parent)
		}
	} else if q, known := t.Find(queue); !known {
		reason = fmt.Sprintf("there is no queue %s, or more than one", conf.Shorten(queue))
	} else if !q.Leaf() {
		reason = fmt.Sprintf("queue %s holds queues, and no applications", q.Path)
	}
	if reason != "" {
		p.failed[key] = true
		p.problem(conf.Error, key, text, reason)
	}
}

// cutLast splits the last part off a path; ok is false if there is only one.
func cutLast(path string) (before, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

// mapped returns the queue that the mappings choose, or else the one that the application names. A mapping to an unknown
// queue leads to root.default.
func (t *Tree) mapped(app App, groups func(string) ([]string, error)) (string, error) {
	place := &t.Settings.Placement
	var of []string
	known := false
	groupsOf := func() []string { // Hadoop goes on without groups where it can't find them out
		if !known && groups != nil {
			of, _ = groups(app.User)
		}
		known = true
		return of
	}
	for _, m := range place.mappings {
		switch m.kind {
		case "u":
			if m.source != "%user" && m.source != app.User {
				continue
			}
		case "g":
			if !slices.Contains(groupsOf(), m.source) {
				continue
			}
		case "a":
			if m.source != "%application" && m.source != app.Name {
				continue
			}
		}
		if q := t.chosen(m.queue, app, groupsOf); q != nil {
			return q.Path, nil
		}
		if q, ok := t.byPath["root.default"]; ok && q.Leaf() {
			return q.Path, nil
		}
		return "", &Refusal{Text: "Application submission have been rejected by a mapping rule. Please see the logs for details"}
	}
	return app.Queue, nil
}

// chosen returns the leaf that a mapping's queue means for an application, or nil.
func (t *Tree) chosen(pattern string, app App, groups func() []string) *Queue {
	parent, last, nested := cutLast(pattern)
	above := t.Root
	if nested {
		q, ok := t.Find(variables(parent, app, groups))
		if !ok {
			return nil
		}
		above = q
	}
	find := func(name string) *Queue {
		var q *Queue
		if nested {
			q = t.byPath[above.Path+"."+name]
		} else {
			q, _ = t.Find(name)
		}
		if name == "" || q == nil || !q.Leaf() {
			return nil
		}
		return q
	}
	if last == "%secondary_group" { // the first one that has a queue
		for _, g := range groups()[min(1, len(groups())):] {
			if q := find(clean(g)); q != nil {
				return q
			}
		}
		return nil
	}
	return find(variables(last, app, groups))
}

// variables replaces variables with properties of an application, where they are a whole part of a path.
func variables(path string, app App, groups func() []string) string {
	parts := strings.Split(path, ".")
	for i, part := range parts {
		switch part {
		case "%user":
			parts[i] = clean(app.User)
		case "%application":
			parts[i] = app.Name
		case "%specified":
			parts[i] = app.Queue
		case "%default":
			parts[i] = "root.default"
		case "%primary_group":
			parts[i] = ""
			if g := groups(); len(g) > 0 {
				parts[i] = clean(g[0])
			}
		}
	}
	return strings.Join(parts, ".")
}

// clean turns the name of a user or a group into a part of a queue's path.
func clean(name string) string {
	return strings.ReplaceAll(strings.TrimSpace(name), ".", "_dot_")
}
