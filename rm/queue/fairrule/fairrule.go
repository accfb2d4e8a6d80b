// Package fairrule is the rules of a queuePlacementPolicy, by which YARN's FairScheduler finds the queues of applications (Hadoop: FSPlacementRule). It knows
// queues through the interface Queues alone.
package fairrule

import (
	"fmt"
	"strings"

	"heddle/conf"
)

// Rule is a rule.
type Rule struct {
	kind   string
	create bool
	queue  string // of default
	parent *Rule  // of rules whose queue is below another rule's
}

// Queues are the queues that exist.
type Queues interface {
	// Is reports whether there is a queue at a path, and whether it is a leaf.
	Is(path string) (there, leaf bool)
}

// Default are the rules of a file that has none: what keys of yarn-site.xml stand for.
func Default(undeclared, userQueues bool) []Rule {
	rules := []Rule{{kind: "specified", create: undeclared}}
	if userQueues {
		rules = append(rules, Rule{kind: "user", create: undeclared})
	}
	if !userQueues || !undeclared {
		rules = append(rules, Rule{kind: "default", create: true, queue: "root.default"})
	}
	return rules
}

// parser reads rules.
type parser struct {
	queues Queues
	fail   func(e *conf.Element, reason string)
}

// Parse reads the rules of an allocation file. fail is told of mistakes.
func Parse(e *conf.Element, queues Queues, fail func(e *conf.Element, reason string)) (rules []Rule) {
	p := parser{queues, fail}
	for i, c := range e.Children {
		if i > 0 && len(rules) > 0 && rules[len(rules)-1].terminal() {
			fail(c, "this rule never applies, because the one before it applies to every application")
		}
		rules = append(rules, p.rule(c, false))
	}
	if len(rules) == 0 || !rules[len(rules)-1].terminal() {
		fail(e, "the last rule must apply to every application: end with <default/> or <reject/>")
	}
	return rules
}

// terminal reports whether a rule applies to every application.
func (r *Rule) terminal() bool {
	switch r.kind {
	case "reject":
		return true
	case "specified", "secondaryGroupExistingQueue":
		return false
	}
	return r.create && (r.parent == nil || r.parent.terminal())
}

// rule reads one rule. Its element, or the attribute of a <rule>, names it.
func (p *parser) rule(e *conf.Element, nested bool) Rule {
	r := Rule{kind: e.Name, create: !strings.EqualFold(e.Attrs["create"], "false"), queue: "root.default"}
	if e.Name == "rule" {
		r.kind = e.Attrs["name"]
	}
	parents := e.Children
	switch r.kind {
	case "user", "primaryGroup", "secondaryGroupExistingQueue":
	case "nestedUserQueue":
		if len(parents) == 0 {
			p.fail(e, "it needs a rule inside it, which chooses the parent of the user's queue")
		}
		r.kind = "user"
	case "specified", "reject":
		if len(parents) > 0 {
			p.fail(e, "it takes no rule within it")
		}
	case "default":
		p.byDefault(e, &r, nested)
	default:
		p.fail(e, fmt.Sprintf("there is no rule %q; there are specified, user, primaryGroup, secondaryGroupExistingQueue, nestedUserQueue, default and reject",
			conf.Shorten(r.kind)))
	}
	if len(parents) > 1 {
		p.fail(e, "it takes no more than one rule within it")
	}
	for _, c := range parents {
		parent := p.rule(c, true)
		if parent.kind == "reject" {
			p.fail(c, "it can't be within another rule")
		}
		r.parent = &parent
	}
	return r
}

// byDefault reads the rule default.
func (p *parser) byDefault(e *conf.Element, r *Rule, nested bool) {
	if len(e.Children) > 0 {
		p.fail(e, "it takes no rule within it")
	}
	if q := strings.TrimSpace(e.Attrs["queue"]); q != "" {
		if r.queue = Rooted(q); !ValidName(r.queue) {
			p.fail(e, fmt.Sprintf("%q is not a valid path of a queue", conf.Shorten(q)))
		}
	}
	if there, leaf := p.queues.Is(r.queue); there && !leaf && !nested {
		p.fail(e, fmt.Sprintf("queue %s holds queues, and no applications", r.queue))
	}
}

// Rooted is a path that begins with root.
func Rooted(path string) string {
	if path == "root" || strings.HasPrefix(path, "root.") {
		return path
	}
	return "root." + path
}

// MaxName limits the parts of paths, in bytes.
const MaxName = 512

// ValidName reports whether no part of a path is empty, very long or padded with blanks.
func ValidName(path string) bool {
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || strings.TrimSpace(part) != part || len(part) > MaxName {
			return false
		}
	}
	return true
}

// App is what rules look at.
type App struct{ User, Queue string }

// Refused is why the submission of an application is refused, in Hadoop's words.
type Refused string

func (r Refused) Error() string { return string(r) }

// Place returns the path that the first rule chooses which applies, or "" if none does. Nothing may be there yet. The error is a Refused.
func Place(rules []Rule, app App, queues Queues, groups func(string) ([]string, error)) (path string, err error) {
	for i := range rules {
		if path, err = rules[i].apply(app, queues, groups); err != nil || path != "" {
			return path, err
		}
	}
	return "", nil
}

// apply returns the queue that a rule chooses, or "" if the next rule decides.
func (r *Rule) apply(app App, queues Queues, groups func(string) ([]string, error)) (string, error) {
	ifThere := func(path string, create bool) string {
		if there, _ := queues.Is(path); there || create {
			return path
		}
		return ""
	}
	switch r.kind {
	case "reject":
		return "", nil
	case "default":
		return ifThere(r.queue, r.create), nil
	case "specified":
		if !ValidName(app.Queue) {
			return "", Refused(fmt.Sprintf("Application submitted by user %s with illegal queue name '%s'.", app.User, conf.Shorten(app.Queue)))
		}
		if app.Queue == "default" {
			return "", nil
		}
		return ifThere(Rooted(app.Queue), r.create), nil
	}
	names, err := namesFor(r.kind, app.User, groups)
	if err != nil {
		return "", err
	}
	above := "root"
	if r.parent != nil {
		if above, err = r.parent.apply(app, queues, groups); err != nil || above == "" {
			return "", err
		}
		if there, leaf := queues.Is(above); there && leaf {
			return "", nil
		}
	}
	for _, name := range names {
		path := clean(name)
		if r.parent != nil {
			path = above + "." + path
		}
		if path = ifThere(Rooted(path), r.create && r.kind != "secondaryGroupExistingQueue"); path != "" {
			return path, nil
		}
	}
	return "", nil
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
			return nil, Refused("Group resolution failed")
		}
	}
	switch {
	case kind == "secondaryGroupExistingQueue":
		return of, nil // including the primary one, as in YARN
	case len(of) == 0:
		return nil, Refused("No groups returned for user " + user)
	}
	return of[:1], nil
}

// clean turns the name of a user or a group into a part of a queue's path.
func clean(name string) string {
	return strings.ReplaceAll(strings.TrimSpace(name), ".", "_dot_")
}
