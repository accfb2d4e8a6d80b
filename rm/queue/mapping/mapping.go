// Package mapping is the rules by which YARN's CapacityScheduler finds the queues of applications: it reads them from JSON
// (mapping-rule-format=json) or as the older queue-mappings have them, checks them against the queues, and applies them.
//
// It knows queues through the interface Queues alone, and makes none: the queue that a rule finds may be one that can be created.
// (Hadoop: CSMappingPlacementRule, csmappingrule.)
package mapping

import (
	"fmt"
	"slices"
	"strings"
)

// Queue is what rules need to know of a queue.
type Queue struct {
	Path string
	Leaf bool
	// Flexible and Legacy say that queues may be created below it (auto-queue-creation-v2, auto-create-child-queue).
	Flexible, Legacy bool
}

// Queues are the queues that exist.
type Queues interface {
	// Lookup finds a queue by its path, or by its name if only one has it.
	Lookup(name string) (Queue, bool)
	// Ambiguous reports whether more than one queue has a name.
	Ambiguous(name string) bool
}

// Result is what a rule leads to when the queue that it names can't be had.
type Result uint8

// Results.
const (
	Skip         Result = iota // the next rule decides
	Reject                     // the application is refused
	PlaceDefault               // it goes to the default queue
)

// kind is what a rule looks at.
type kind uint8

const (
	everybody kind = iota
	ofUser
	ofGroup
	ofApplication
)

// action is what a rule does with an application that it matches.
type action uint8

const (
	place action = iota
	reject
	setDefault
)

// Rule is one rule. The zero Rule places every application nowhere; see Parse and Old.
type Rule struct {
	kind     kind
	matches  string
	action   action
	target   string // of place: a path with variables; of setDefault: the text
	create   bool   // the queue may be one that doesn't exist yet
	fallback Result
}

// Old makes a rule of queue-mappings: kind is u, g or a. Where its queue can't be had, applications go to the default queue.
func Old(of byte, source, target string) Rule {
	r := Rule{matches: source, target: target, create: true, fallback: PlaceDefault}
	switch {
	case of == 'g':
		r.kind = ofGroup
	case of == 'a':
		r.kind = ofApplication
	case source != "%user":
		r.kind = ofUser
	}
	return r
}

// App is what rules look at.
type App struct {
	User, Name string
	Queue      string // as the client gives it
	// Groups are the user's, the primary one first. An error is like a user of whom nothing is known.
	Groups func() ([]string, error)
}

// ErrRejected is the refusal of an application by a rule, in Hadoop's words.
var ErrRejected = fmt.Errorf("%s", "Application submission have been rejected by a mapping rule. Please see the logs for details")

// Place applies rules in their order. path is that of the queue that they choose, "" if none applies: the application's own choice
// holds. The queue exists and is a leaf, or may be created. The error is ErrRejected.
func Place(rules []Rule, app App, queues Queues) (path string, err error) {
	v := newVariables(app, queues)
	for i := range rules {
		r := &rules[i]
		if !r.match(v) {
			continue
		}
		result := Skip
		switch r.action {
		case reject:
			result = Reject
		case setDefault:
			v.set("%default", v.inText(r.target))
		case place:
			if path, err := normalize(queues, v.inPath(r.target), r.create); err == nil {
				return path, nil
			}
			result = r.fallback
		}
		switch result {
		case Reject:
			return "", ErrRejected
		case PlaceDefault:
			if path, err = normalize(queues, v.inPath("%default"), false); err != nil {
				return "", ErrRejected
			}
			return path, nil
		}
	}
	return "", nil
}

// match reports whether the rule is for the application.
func (r *Rule) match(v *variables) bool {
	switch r.kind {
	case ofUser:
		return v.inText(r.matches) == v.app.User
	case ofGroup:
		return slices.Contains(v.groups(), v.inText(r.matches))
	case ofApplication:
		return v.inText(r.matches) == v.app.Name
	}
	return true
}

// normalize returns the path of the leaf that a path or name means, or says why there is none.
func normalize(queues Queues, name string, create bool) (string, error) {
	parent, leaf, nested := cut(name)
	if leaf == "" || slices.Contains(split(name), "") {
		return "", fmt.Errorf("invalid path %q", name)
	}
	path := ""
	if !nested {
		q, ok := queues.Lookup(leaf)
		if !ok {
			return "", fmt.Errorf("there is no queue %q, or more than one", leaf)
		}
		path = q.Path
	} else {
		var err error
		if path, err = root(queues, parent+"."+leaf); err != nil {
			return "", err
		}
		switch v := validity(queues, path); {
		case v == exists, v == creatable && create:
		default:
			return "", fmt.Errorf("queue %q: %s", path, v)
		}
	}
	if q, ok := queues.Lookup(path); ok && q.Path == path && !q.Leaf {
		return "", fmt.Errorf("queue %q holds queues", path)
	}
	return path, nil
}

// cut splits the last part off a path; nested is false if there is only one.
func cut(path string) (parent, leaf string, nested bool) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return strings.TrimSpace(path[:i]), strings.TrimSpace(path[i+1:]), true
	}
	return "", path, false
}

// split returns the parts of a path, without empty ones at its end, as Java's split does.
func split(path string) []string {
	parts := strings.Split(path, ".")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// root replaces the first part of a path, which may be the name of a queue, with that queue's path.
func root(queues Queues, path string) (string, error) {
	parts := split(path)
	q, ok := queues.Lookup(parts[0])
	switch {
	case !ok && queues.Ambiguous(parts[0]):
		return "", words("Path root '%s' is ambiguous. Path '%s' is invalid", parts[0], path)
	case !ok:
		return "", words("Path root '%s' does not exist. Path '%s' is invalid", parts[0], path)
	}
	parts[0] = q.Path
	return strings.Join(parts, "."), nil
}

// validation is whether a queue can be had (Hadoop: MappingRuleValidationHelper.ValidationResult).
type validation uint8

const (
	exists validation = iota
	creatable
	emptyPath
	noParent
	noDynamicParent
	ambiguousParent
	ambiguousQueue
)

func (v validation) String() string {
	return [...]string{
		"it exists", "it can be created", "there is no path", "its parent isn't named", "its parent creates no queues", "its parent is ambiguous", "it is ambiguous",
	}[v]
}

// validity finds out whether a queue exists, or could be created with no more than one parent.
func validity(queues Queues, path string) validation {
	if path == "" {
		return emptyPath
	}
	if _, ok := queues.Lookup(path); ok {
		return exists
	}
	if queues.Ambiguous(path) {
		return ambiguousQueue
	}
	parts := split(path)
	parent := strings.Join(parts[:len(parts)-1], ".")
	above := strings.Join(parts[:max(0, len(parts)-2)], ".")
	if parent == "" {
		return noParent
	}
	if queues.Ambiguous(parent) {
		return ambiguousParent
	}
	if q, ok := queues.Lookup(parent); ok {
		if !q.Leaf && (q.Flexible || q.Legacy) {
			return creatable
		}
		return noDynamicParent
	}
	if above == "" {
		return noParent
	}
	if queues.Ambiguous(above) {
		return ambiguousParent
	}
	if q, ok := queues.Lookup(above); ok && !q.Leaf && q.Flexible {
		return creatable
	}
	return noDynamicParent
}

// stock is an error in Hadoop's words, which may begin with a capital letter.
type stock string

func (s stock) Error() string { return string(s) }

func words(format string, args ...any) error { return stock(fmt.Sprintf(format, args...)) }
