package conf

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// Property is one property in a file.
type Property struct {
	Name   string
	Value  string // as written: white space kept, variables not replaced
	Final  bool   // later files don't override it
	Source Source
}

// Properties are the properties of files that are read one after the other. A later value replaces an earlier one
// unless that is final. Don't read it while another goroutine adds to it.
type Properties struct {
	byName   map[string]Property
	finals   map[string]Source // including properties without a value
	problems []Problem         // found while reading; none of them prevents use
}

// LoadFile reads one property file, such as capacity-scheduler.xml. It doesn't replace variables; Config.With does.
func LoadFile(path string) (*Properties, error) {
	p := newProperties()
	if err := p.addFile(path); err != nil {
		return nil, err
	}
	return p, nil
}

func newProperties() *Properties {
	return &Properties{byName: map[string]Property{}, finals: map[string]Source{}}
}

func (p *Properties) clone() *Properties {
	return &Properties{
		byName:   maps.Clone(p.byName),
		finals:   maps.Clone(p.finals),
		problems: slices.Clone(p.problems),
	}
}

// Get returns the property with a name. For a deprecated name it returns the property that replaces it.
func (p *Properties) Get(name string) (Property, bool) {
	prop, ok := p.byName[Canonical(name)]
	return prop, ok
}

// All lists the properties by name.
func (p *Properties) All() iter.Seq[Property] {
	return func(yield func(Property) bool) {
		for _, name := range slices.Sorted(maps.Keys(p.byName)) {
			if !yield(p.byName[name]) {
				return
			}
		}
	}
}

// Len returns the number of properties.
func (p *Properties) Len() int { return len(p.byName) }

// Problems lists what is suspicious in the files: names set twice, attempts to override final properties, deprecated
// names.
func (p *Properties) Problems() []Problem { return slices.Clone(p.problems) }

func (p *Properties) addFile(path string) error {
	root, err := ReadXML(path)
	if err != nil {
		return err
	}
	return p.addTree(root)
}

func (p *Properties) addTree(root *Element) error {
	if root.Name != "configuration" {
		return &SyntaxError{Source: root.Source, Reason: fmt.Sprintf("the outermost element is <%s>, not <configuration>", root.Name)}
	}
	p.addChildren(root, map[string]Property{})
	return nil
}

// addChildren adds the properties below e. Like Hadoop it looks into unknown elements, because an include may leave a
// <configuration> inside another one. seen is what this file has set.
func (p *Properties) addChildren(e *Element, seen map[string]Property) {
	for _, child := range e.Children {
		switch child.Name {
		case "property":
			p.addProperty(child, seen)
		case "configuration":
			p.addChildren(child, seen)
		default:
			p.warn(child.Source, "", "", fmt.Sprintf("<%s> is not an element of a configuration", child.Name))
			p.addChildren(child, seen)
		}
	}
}

func (p *Properties) addProperty(e *Element, seen map[string]Property) {
	name, value := trim(e.Attrs["name"]), e.Attrs["value"]
	final := e.Attrs["final"] == "true"
	for _, part := range e.Children {
		switch text := part.Text(); part.Name {
		case "name":
			if text != "" {
				name = trim(text)
			}
		case "value":
			if text != "" {
				value = text
			}
		case "final":
			if final = text == "true"; !final && trim(text) != "false" {
				p.warn(part.Source, name, text, "<final> is neither true nor false and counts as false")
			}
		}
	}
	if name == "" {
		p.warn(e.Source, "", value, "a property without a name is ignored")
		return
	}
	if now := Canonical(name); now != name {
		p.warn(e.Source, name, value, "this name is deprecated: it is "+now+" now")
		name = now
	}
	prop := Property{Name: name, Value: value, Final: final, Source: e.Source}
	if before, ok := seen[name]; ok && value != "" && value != before.Value {
		p.warn(e.Source, name, value, fmt.Sprintf("is already set at %s; the last one counts", before.Source))
	}
	p.add(prop)
	if value != "" {
		seen[name] = prop
	}
}

// add follows Hadoop: a property with an empty value sets nothing, but may still be final.
func (p *Properties) add(prop Property) {
	by, isFinal := p.finals[prop.Name]
	switch {
	case prop.Value == "":
	case isFinal:
		if before := p.byName[prop.Name]; before.Value != prop.Value {
			p.warn(prop.Source, prop.Name, prop.Value, fmt.Sprintf("is ignored: it is final at %s", by))
		}
	default:
		p.byName[prop.Name] = prop
	}
	if prop.Final && !isFinal {
		p.finals[prop.Name] = prop.Source
	}
}

// set replaces a value whatever the files say, like Hadoop's Configuration.set.
func (p *Properties) set(name, value string, source Source) {
	name = Canonical(name)
	before := p.byName[name]
	p.byName[name] = Property{Name: name, Value: value, Final: before.Final, Source: source}
}

func (p *Properties) warn(at Source, key, value, message string) {
	p.problems = append(p.problems, Problem{Severity: Warning, Source: at, Key: key, Value: value, Message: message})
}
