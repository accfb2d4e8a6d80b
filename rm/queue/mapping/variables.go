package mapping

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// DefaultQueue is the queue that %default means unless a rule has set another one.
const DefaultQueue = "root.default"

// variables are the properties of an application that stand for parts of rules (Hadoop: VariableContext).
type variables struct {
	app    App
	queues Queues
	values map[string]string
	// secondary are the user's other groups, as parts of paths, if there are any.
	secondary []string

	known bool // of is
	of    []string
}

func newVariables(app App, queues Queues) *variables {
	specified := app.Queue
	if specified == "default" {
		specified = ""
	}
	return &variables{app: app, queues: queues, values: map[string]string{
		"%user": clean(app.User), "%specified": specified, "%application": app.Name, "%default": DefaultQueue,
	}}
}

func (v *variables) set(name, value string) { v.values[name] = value }

// groups returns the user's groups. They are looked up when the first rule needs them, as that may take long.
func (v *variables) groups() []string {
	if v.known {
		return v.of
	}
	v.known = true
	if v.app.Groups == nil {
		v.set("%primary_group", "")
		v.set("%secondary_group", "")
		return nil
	}
	of, err := v.app.Groups()
	if err != nil || len(of) == 0 {
		return nil // the variables stay undefined: no queue has such a name
	}
	v.of = of
	v.set("%primary_group", clean(of[0]))
	for _, g := range of[1:] {
		v.secondary = append(v.secondary, clean(g))
	}
	if len(of) == 1 {
		v.set("%secondary_group", "")
	}
	return v.of
}

// inText replaces variables anywhere in a text.
func (v *variables) inText(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	v.groups()
	names := slices.Collect(maps.Keys(v.values))
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	for _, name := range names {
		text = strings.ReplaceAll(text, name, v.values[name])
	}
	return text
}

// inPath replaces variables that are a whole part of a path.
func (v *variables) inPath(path string) string {
	parts := split(path)
	for i, part := range parts {
		if strings.HasSuffix(part, "_group") {
			v.groups()
		}
		if value, ok := v.values[part]; ok {
			parts[i] = value
		} else if part == "%secondary_group" && len(v.secondary) > 0 {
			parts[i] = v.group(strings.Join(parts[:i], "."))
		}
	}
	return strings.Join(parts, ".")
}

// group returns the first of the user's secondary groups that has a queue below a path.
func (v *variables) group(above string) string {
	if above != "" {
		above += "."
	}
	for _, g := range v.secondary {
		if _, ok := v.queues.Lookup(above + g); ok {
			return g
		}
	}
	return ""
}

// clean turns the name of a user or a group into a part of a queue's path.
func clean(name string) string { return strings.ReplaceAll(name, ".", "_dot_") }
