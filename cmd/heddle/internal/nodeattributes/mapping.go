package nodeattributes

import (
	"fmt"
	"strings"
)

// Attribute is an attribute that an administrator gives to a host.
type Attribute struct{ Name, Value string }

// Mapping is a host with attributes.
type Mapping struct {
	Host       string
	Attributes []Attribute
}

var errNoMappings = wrong("No node-to-attributes mappings are specified")

// Parse reads host:name[(type)][=value],name2 for several hosts, with blanks or ends of lines between them. Words that begin with # count for nothing, and of
// two mappings of a host the last one counts, of two attributes with one name the first (the server sees to that). Only operations that replace take a host
// without attributes. Errors are in the words of Hadoop's NodeAttributesCLI.
func Parse(text, operation string) (all []Mapping, err error) {
	at := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\n' }) {
		word = strings.TrimSpace(word)
		if word == "" || strings.HasPrefix(word, "#") {
			continue
		}
		m, err := parseHost(word)
		if err != nil {
			return nil, err
		}
		if len(m.Attributes) == 0 && operation != "replace" {
			return nil, wrong("Attributes cannot be null or empty for Operation [%s] on the node %s", operation, m.Host)
		}
		if i, twice := at[m.Host]; twice {
			all[i] = m
			continue
		}
		at[m.Host] = len(all)
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, errNoMappings
	}
	return all, nil
}

func parseHost(word string) (m Mapping, err error) {
	if !strings.Contains(word, ":") {
		return m, wrong("Invalid Node to attribute mapping : %s", word)
	}
	parts := split(word, ":")
	if len(parts) == 0 || strings.TrimSpace(parts[0]) == "" {
		return m, wrong("Node name cannot be empty")
	}
	m.Host = parts[0]
	if len(parts) != 2 {
		return m, nil
	}
	for _, one := range split(parts[1], ",") {
		a, err := parseAttribute(m.Host, one)
		if err != nil {
			return m, err
		}
		m.Attributes = append(m.Attributes, a)
	}
	return m, nil
}

func parseAttribute(host, text string) (a Attribute, err error) {
	parts := split(text, "=")
	if len(parts) == 0 || parts[0] == "" {
		return a, wrong("Attribute name cannot be null or empty")
	}
	name := parts[0]
	if len(parts) > 1 {
		a.Value = strings.TrimSpace(parts[1])
	}
	begin, end := strings.IndexByte(name, '('), strings.IndexByte(name, ')')
	switch {
	case begin < 0:
	case begin == 0:
		return a, wrong("Attribute for node %s is not properly configured : %s", host, text)
	case end < begin:
		return a, wrong("Attribute for node %s is not properly Configured : %s", host, text)
	default:
		if kind := name[begin+1 : end]; !strings.EqualFold(strings.TrimSpace(kind), "STRING") {
			return a, wrong("Invalid Attribute type configuration : %s in %s", kind, text)
		}
		name = name[:begin]
	}
	a.Name = strings.TrimSpace(name)
	return a, nil
}

// split cuts a text as Java's String.split does: without empty parts at the end.
func split(text, separator string) []string {
	parts := strings.Split(text, separator)
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// wrong makes an error in Hadoop's words.
func wrong(format string, args ...any) error { return fmt.Errorf("%s", fmt.Sprintf(format, args...)) }
