package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/conf"
	"heddle/rm/queue/fairrule"
	"heddle/rm/queue/mapping"
	"heddle/rm/queue/template"
)

// Placement decides which queue an application goes to.
type Placement struct {
	mappings []mapping.Rule // of a Capacity tree
	// override applies the mappings also to applications that name a queue.
	override bool
	rules    []fairrule.Rule // of a Fair tree
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

// Place finds the leaf that an application goes to, by the tree's mappings or rules, and returns its path. The leaf may not exist yet. The error is a *Refusal;
// path is set as far as it is known.
func (t *Tree) Place(app App, groups func(user string) ([]string, error)) (path string, err error) {
	path, _, err = t.Choose(app, groups)
	return path, err
}

// Choose is Place, and also tells whether a mapping has chosen the leaf.
func (t *Tree) Choose(app App, groups func(user string) ([]string, error)) (path string, mapped bool, err error) {
	if app.Queue == "" {
		app.Queue = "default"
	}
	switch t.Kind {
	case FIFO:
		return app.Queue, false, nil
	case Fair:
		path, err = t.placeFair(app, groups)
		return path, false, err
	}
	name := app.Queue
	if place := &t.Settings.Placement; len(place.mappings) > 0 && (name == "default" || place.override) {
		if name, mapped, err = t.mapped(app, groups); err != nil {
			return app.Queue, true, err
		}
	}
	path, _, err = t.leafFor(app, name, mapped)
	return path, mapped, err
}

// leafFor returns the path of the leaf with a name. If it doesn't exist it may be created: missing are the queues that have to be for that.
func (t *Tree) leafFor(app App, name string, mapped bool) (path string, missing []template.Created, err error) {
	q, ok := t.Find(name)
	if ok {
		q = q.Entrance()
	}
	switch {
	case !ok && len(t.byName[name]) > 1:
		return name, nil, fails("Application %s submitted by user %s to ambiguous queue: %s please use full queue path instead.", app.ID, app.User, name)
	case !ok:
		missing, err := t.creatable(name)
		switch {
		case err != nil && mapped:
			return name, nil, fails("Application %s submission by user : %s to  queue : %s failed : %v", app.ID, app.User, conf.Shorten(name), err)
		case err != nil:
			return name, nil, fails("Application %s submitted by user %s to unknown queue: %s", app.ID, app.User, conf.Shorten(name))
		case t.byPath[missing[len(missing)-1].Path] != nil: // it was named with blanks
			return t.leafFor(app, missing[len(missing)-1].Path, mapped)
		}
		return missing[len(missing)-1].Path, missing, nil
	case !q.Leaf():
		return q.Path, nil, fails("Application %s submitted by user : %s to non-leaf queue : %s", app.ID, app.User, name)
	case q.Made == template.LegacyLeaf && !mapped:
		return q.Path, nil, prohibited(app, name)
	}
	return q.Path, nil, q.Admits(app)
}

// prohibited refuses an application that names a legacy leaf, to which mappings alone lead.
func prohibited(app App, name string) error {
	return fails("Application %s submission by user : %s to specified queue : %s  is prohibited. Verify automatic queue mapping for user exists in %squeue-mappings",
		app.ID, app.User, name, Prefix)
}

// For returns the tree in which the leaf of an application exists, and that leaf's path. It is the tree itself unless queues have to be created, which
// made are then, parents first. The error is a *Refusal, as those of the leaf are: as in YARN queues may be created for an application that fails.
func (t *Tree) For(app App, name string, mapped bool) (with *Tree, path string, made []template.Created, err error) {
	if t.Kind != Capacity {
		return t, name, nil, nil
	}
	path, made, err = t.leafFor(app, name, mapped)
	if err != nil || len(made) == 0 {
		return t, path, nil, err
	}
	with, err = t.Adding(made)
	if err != nil {
		var invalid *Invalid
		text := err.Error()
		if errors.As(err, &invalid) {
			text = invalid.Brief()
		}
		return t, path, nil, fails("Application %s submission by user : %s to  queue : %s failed : %s", app.ID, app.User, conf.Shorten(path), text)
	}
	leaf := with.byPath[path]
	if leaf.Made == template.LegacyLeaf && !mapped {
		return with, path, made, prohibited(app, path)
	}
	return with, path, made, leaf.Admits(app)
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
	case q.Made == template.LegacyLeaf: // one without capacity has a share of none (Hadoop: AbstractLeafQueue.validateSubmitApplication)
		return nil
	case inQueue >= int(share.MaxApplications):
		return fails(accessControl+"Queue %s already has %d applications, cannot accept submission of application: %s", q.Path, inQueue, app.ID)
	case ofUser >= int(share.MaxApplicationsPerUser):
		return fails(accessControl+"Queue %s already has %d applications from user %s cannot accept submission of application: %s",
			q.Path, ofUser, app.User, app.ID)
	}
	return nil
}

// placement reads the rules that place applications: JSON, or queue-mappings (Hadoop: CapacitySchedulerConfiguration.getMappingRules).
func (p *parser) placement(t *Tree) (out Placement) {
	out.override = p.truth("queue-mappings-override.enable", false)
	for _, rule := range conf.ParseList(p.conf.Text(placementEngines)) {
		if known := strings.ToLower(rule); known != "" && known != "user-group" && known != "app-name" && !strings.HasPrefix(rule, "org.apache.hadoop.yarn.server.resourcemanager.placement.") {
			p.failed[placementEngines] = true
			p.problem(conf.Error, placementEngines, rule, "is not a rule of Heddle's, which runs no classes of a site in the ResourceManager: write it as "+Prefix+"mapping-rule-json, and name user-group here")
		}
	}
	into := &rules{p, t, &out}
	switch format := p.text("mapping-rule-format", "legacy"); format {
	case "legacy":
		for _, key := range []string{"mapping-rule-json", rulesFile} {
			if v := p.text(key, ""); v != "" {
				p.warn(key, v, "has no effect, as "+Prefix+"mapping-rule-format is legacy, and not json")
			}
		}
		into.mappings()
	case "json":
		into.json()
	default:
		p.failWith(fmt.Sprintf("Illegal queue mapping format '%s' please use 'legacy' or 'json'", conf.Shorten(format)),
			"mapping-rule-format", format, "it must be legacy or json")
	}
	return out
}

// rules reads rules of a tree into out.
type rules struct {
	*parser
	tree *Tree
	out  *Placement
}

// mappings reads queue-mappings, and the mappings by the names of applications.
func (p *rules) mappings() {
	const key = "queue-mappings"
	for _, text := range conf.ParseList(p.settings[key]) {
		parts := strings.Split(text, ":")
		for i := range parts {
			parts[i] = strings.TrimSpace(parts[i])
		}
		if len(parts) != 3 || slices.Contains(parts, "") || parts[0] != "u" && parts[0] != "g" {
			p.failWith("Illegal queue mapping "+conf.Shorten(text), key, text, "a mapping is u:user:queue or g:group:queue")
			continue
		}
		p.add(Prefix+key, text, mapping.Old(parts[0][0], parts[1], parts[2]))
	}
	const byName = placementEngines + ".app-name"
	names, _ := p.conf.Get(byName)
	for _, text := range conf.ParseList(names) {
		source, queue, ok := strings.Cut(text, ":")
		source, queue = strings.TrimSpace(source), strings.TrimSpace(queue)
		if !ok || source == "" || queue == "" || strings.Contains(queue, ":") {
			p.failed[byName] = true
			p.problem(conf.Error, byName, text, "a mapping is application:queue")
			continue
		}
		p.add(byName, text, mapping.Old('a', source, queue))
	}
}

const rulesFile, placementEngines = "mapping-rule-json-file", "yarn.scheduler.queue-placement-rules"

// rulesInJSON reads rules in JSON: from the setting, or else from the file.
func (p *rules) json() {
	key, text := "mapping-rule-json", p.settings["mapping-rule-json"]
	if text == "" {
		if key = rulesFile; p.text(key, "") == "" {
			p.warn("mapping-rule-format", "json", "neither "+Prefix+"mapping-rule-json nor "+Prefix+rulesFile+" is set: there are no rules")
			return
		}
		var err error
		if text, err = mapping.Text(p.conf.Dir(), p.settings); err != nil {
			p.fail(key, p.settings[key], err.Error())
			return
		}
	}
	parsed, err := mapping.Parse([]byte(text))
	if err != nil {
		said := err
		if of := errors.Unwrap(err); of != nil {
			said = of
		}
		p.failWith(said.Error(), key, conf.Shorten(text), err.Error())
		return
	}
	for _, r := range parsed {
		p.add(Prefix+key, r.String(), r)
	}
}

// rule adds a rule that can work with the queues of the tree.
func (p *rules) add(key, text string, r mapping.Rule) {
	if err := r.Validate(p.tree); err != nil {
		if p.ok() {
			p.words = "org.apache.hadoop.yarn.exceptions.YarnException: " + err.Error()
		}
		p.failed[key] = true
		p.problem(conf.Error, key, text, err.Error())
	}
	p.out.mappings = append(p.out.mappings, r)
}

// Lookup implements mapping.Queues, as does Ambiguous.
func (t *Tree) Lookup(name string) (mapping.Queue, bool) {
	q, ok := t.Find(name)
	if !ok || name == "" {
		return mapping.Queue{}, false
	}
	return mapping.Queue{Path: q.Path, Leaf: q.Leaf(), Flexible: q.Creation.Flexible, Legacy: q.Creation.Legacy}, true
}

// Ambiguous reports whether more than one queue has a name.
func (t *Tree) Ambiguous(name string) bool { return len(t.byName[name]) > 1 }

// mapped returns the queue that the rules choose, or else the one that the application names.
func (t *Tree) mapped(app App, groups func(string) ([]string, error)) (name string, mapped bool, err error) {
	by := mapping.App{User: app.User, Name: app.Name, Queue: app.Queue}
	if groups != nil {
		by.Groups = func() ([]string, error) { return groups(app.User) }
	}
	path, err := mapping.Place(t.Settings.Placement.mappings, by, t)
	switch {
	case err != nil:
		return "", true, &Refusal{Text: err.Error()}
	case path != "":
		return path, true, nil
	}
	return app.Queue, false, nil
}
