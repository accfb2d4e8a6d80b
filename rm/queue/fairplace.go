package queue

import (
	"fmt"
	"strings"

	"heddle/conf"
)

// fairRule is a rule of a queuePlacementPolicy (Hadoop: FSPlacementRule).
type fairRule struct {
	kind   string
	create bool
	queue  string    // of default
	parent *fairRule // of rules whose queue is below another rule's
}

// placement reads the rules of the allocation file, or else the rules that keys of yarn-site.xml stand for.
func (p *fairParser) placement(e *conf.Element, t *Tree) Placement {
	var rules []fairRule
	if e == nil {
		rules = append(rules, fairRule{kind: "specified", create: p.undeclared})
		if p.userQueues {
			rules = append(rules, fairRule{kind: "user", create: p.undeclared})
		}
		if !p.userQueues || !p.undeclared {
			rules = append(rules, fairRule{kind: "default", create: true, queue: "root.default"})
		}
		return Placement{rules: rules}
	}
	for i, c := range e.Children {
		if i > 0 && len(rules) > 0 && rules[len(rules)-1].terminal() {
			p.fail(c, nil, "this rule never applies, because the one before it applies to every application")
		}
		rules = append(rules, p.rule(c, t, false))
	}
	if len(rules) == 0 || !rules[len(rules)-1].terminal() {
		p.fail(e, nil, "the last rule must apply to every application: end with <default/> or <reject/>")
	}
	return Placement{rules: rules}
}

// terminal reports whether a rule applies to every application.
func (r *fairRule) terminal() bool {
	switch r.kind {
	case "reject":
		return true
	case "specified", "secondaryGroupExistingQueue":
		return false
	}
	return r.create && (r.parent == nil || r.parent.terminal())
}

// rule reads one rule. Its element, or the attribute of a <rule>, names it.
func (p *fairParser) rule(e *conf.Element, t *Tree, nested bool) fairRule {
	r := fairRule{kind: e.Name, create: !strings.EqualFold(e.Attrs["create"], "false"), queue: "root.default"}
	if e.Name == "rule" {
		r.kind = e.Attrs["name"]
	}
	parents := e.Children
	switch r.kind {
	case "user", "primaryGroup", "secondaryGroupExistingQueue":
	case "nestedUserQueue":
		if len(parents) == 0 {
			p.fail(e, nil, "it needs a rule inside it, which chooses the parent of the user's queue")
		}
		r.kind = "user"
	case "specified", "reject":
		if len(parents) > 0 {
			p.fail(e, nil, "it takes no rule within it")
		}
	case "default":
		if len(parents) > 0 {
			p.fail(e, nil, "it takes no rule within it")
		}
		if q := strings.TrimSpace(e.Attrs["queue"]); q != "" {
			if r.queue = rooted(q); !validName(r.queue) {
				p.fail(e, nil, fmt.Sprintf("%q is not a valid path of a queue", conf.Shorten(q)))
			}
		}
		if q := t.byPath[r.queue]; q != nil && !q.Leaf() && !nested {
			p.fail(e, nil, fmt.Sprintf("queue %s holds queues, and no applications", r.queue))
		}
	default:
		p.fail(e, nil, fmt.Sprintf("there is no rule %q; there are specified, user, primaryGroup, secondaryGroupExistingQueue, nestedUserQueue, default and reject",
			conf.Shorten(r.kind)))
	}
	if len(parents) > 1 {
		p.fail(e, nil, "it takes no more than one rule within it")
	}
	for _, c := range parents {
		parent := p.rule(c, t, true)
		if parent.kind == "reject" {
			p.fail(c, nil, "it can't be within another rule")
		}
		r.parent = &parent
	}
	return r
}

func rooted(path string) string {
	if path == "root" || strings.HasPrefix(path, "root.") {
		return path
	}
	return "root." + path
}

// validName reports whether no part of a path is empty or padded with blanks.
func validName(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || strings.TrimSpace(part) != part || len(part) > maxName {
			return false
		}
	}
	return true
}

// placeFair applies the rules.
func (t *Tree) placeFair(app App, groups func(string) ([]string, error)) (string, error) {
	for i := range t.Settings.Placement.rules {
		path, err := t.apply(&t.Settings.Placement.rules[i], app, groups)
		if err != nil {
			return app.Queue, err
		}
		if path != "" {
			if !t.possible(path) {
				return path, fails("%s is not a leaf queue", conf.Shorten(path))
			}
			return path, nil
		}
	}
	return app.Queue, fails("Reject application %s submitted by user %s application rejected by placement rules.", app.ID, app.User)
}

// possible reports whether a path is that of a leaf, or of a leaf that the scheduler could create.
func (t *Tree) possible(path string) bool {
	if q := t.byPath[path]; q != nil {
		return q.Leaf()
	}
	above := t.Above(path)
	return validName(path) && strings.HasPrefix(path, "root.") && (!above.Leaf() || above == t.Root)
}

// apply returns the queue that a rule chooses, or "" if the next rule decides.
func (t *Tree) apply(r *fairRule, app App, groups func(string) ([]string, error)) (string, error) {
	switch r.kind {
	case "reject":
		return "", nil
	case "default":
		return t.ifThere(r.queue, r.create), nil
	case "specified":
		if !validName(app.Queue) {
			return "", &Refusal{Text: fmt.Sprintf("Application submitted by user %s with illegal queue name '%s'.", app.User, conf.Shorten(app.Queue))}
		}
		if app.Queue == "default" {
			return "", nil
		}
		return t.ifThere(rooted(app.Queue), r.create), nil
	}
	names, err := namesFor(r.kind, app.User, groups)
	if err != nil {
		return "", err
	}
	above := ""
	if r.parent != nil {
		if above, err = t.apply(r.parent, app, groups); err != nil || above == "" {
			return "", err
		}
		if q := t.byPath[above]; q != nil && q.Leaf() {
			return "", nil
		}
	}
	for _, name := range names {
		path := rooted(clean(name))
		if above != "" {
			path = above + "." + clean(name)
		}
		if path = t.ifThere(path, r.create && r.kind != "secondaryGroupExistingQueue"); path != "" {
			return path, nil
		}
	}
	return "", nil
}

func (t *Tree) ifThere(path string, create bool) string {
	if create || t.byPath[path] != nil {
		return path
	}
	return ""
}

// namesFor returns the names that a rule turns into queues.
func namesFor(kind, user string, groups func(string) ([]string, error)) ([]string, error) {
	if kind == "user" {
		return []string{user}, nil
	}
	var of []string
	if groups != nil {
		var err error
		if of, err = groups(user); err != nil {
			return nil, &Refusal{Text: "Group resolution failed"}
		}
	}
	switch {
	case kind == "secondaryGroupExistingQueue":
		return of, nil // including the primary one, as in YARN
	case len(of) == 0:
		return nil, &Refusal{Text: "No groups returned for user " + user}
	}
	return of[:1], nil
}
