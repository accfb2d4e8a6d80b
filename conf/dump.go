package conf

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const redacted = "<redacted>"

// redactor hides the values of keys that hold secrets (Hadoop: ConfigRedactor).
type redactor []*regexp.Regexp

func (c *Config) redactor() redactor {
	var r redactor
	for _, p := range c.Strings("hadoop.security.sensitive-config-keys") {
		if re, err := regexp.Compile(p); err == nil {
			r = append(r, re)
		}
	}
	return r
}

func (r redactor) redact(key, value string) string {
	if value != "" && slices.ContainsFunc(r, func(re *regexp.Regexp) bool { return re.MatchString(key) }) {
		return redacted
	}
	return value
}

// Setting is a key and its value.
type Setting struct {
	Key     string
	Raw     string // with variables
	Value   string // with variables replaced; Raw if that fails
	Final   bool
	Sources []string // its origins, the last of which counts: a file's name, yarn-default.xml, programmatically
}

// Settings lists all keys that have a value, defaults included, sorted by name. It hides secrets.
func (c *Config) Settings() iter.Seq[Setting] {
	return func(yield func(Setting) bool) {
		names := map[string]bool{}
		for name := range keys().defaults {
			names[name] = true
		}
		for p := range c.props.All() {
			names[p.Name] = true
		}
		secret := c.redactor()
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if s := c.setting(name); !yield(s.hide(secret)) {
				return
			}
		}
	}
}

func (c *Config) setting(name string) Setting {
	raw, _ := c.raw(name)
	s := Setting{Key: name, Raw: raw, Value: raw}
	if v, err := c.expandFor(raw, []string{name}); err == nil {
		s.Value = v
	}
	p, ok := c.props.Get(name)
	switch {
	case !ok:
		s.Sources = []string{defaultFile(name)}
	case strings.HasPrefix(p.Source.File, "<"):
		s.Sources = []string{"programmatically"}
	default:
		s.Sources = []string{filepath.Base(p.Source.File)}
	}
	s.Final = ok && p.Final
	return s
}

func (s Setting) hide(r redactor) Setting {
	s.Raw, s.Value = r.redact(s.Key, s.Raw), r.redact(s.Key, s.Value)
	return s
}

// defaultFile returns the file in which Hadoop has a key's default.
func defaultFile(key string) string {
	family, _, _ := strings.Cut(key, ".")
	switch family {
	case "yarn", "heddle":
		return family + "-default.xml"
	case "dfs":
		return "hdfs-default.xml"
	case "mapreduce":
		return "mapred-default.xml"
	}
	return "core-default.xml"
}

// ErrNoSuchKey says that WriteJSON or WriteXML was called for a key without a value.
type ErrNoSuchKey struct{ Key string }

func (e ErrNoSuchKey) Error() string { return fmt.Sprintf("Property %s not found", e.Key) }

// WriteXML writes all settings, or only that of key if it isn't "", in the form of Hadoop's /conf page: values with
// their variables.
func (c *Config) WriteXML(w io.Writer, key string) error {
	type property struct {
		XMLName xml.Name `xml:"property"`
		Name    string   `xml:"name"`
		Value   string   `xml:"value"`
		Final   bool     `xml:"final"`
		Source  []string `xml:"source"`
	}
	settings, err := c.chosen(key)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>` + "\n")
	for _, s := range settings {
		p, err := xml.Marshal(property{Name: s.Key, Value: s.Raw, Final: s.Final, Source: s.Sources})
		if err != nil {
			return err
		}
		b.Write(append(p, '\n'))
	}
	b.WriteString("</configuration>\n")
	_, err = b.WriteTo(w)
	return err
}

// WriteJSON writes all settings, or only that of key if it isn't "", in the form of Hadoop's /conf?format=json: values
// with their variables replaced.
func (c *Config) WriteJSON(w io.Writer, key string) error {
	type property struct {
		Key      string `json:"key"`
		Value    string `json:"value"`
		IsFinal  bool   `json:"isFinal"`
		Resource string `json:"resource"`
	}
	settings, err := c.chosen(key)
	if err != nil {
		return err
	}
	all := make([]property, len(settings))
	for i, s := range settings {
		all[i] = property{s.Key, s.Value, s.Final, s.Sources[len(s.Sources)-1]}
	}
	var out any = map[string]any{"properties": all}
	if key != "" {
		out = map[string]any{"property": all[0]}
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func (c *Config) chosen(key string) ([]Setting, error) {
	if key == "" {
		return slices.Collect(c.Settings()), nil
	}
	key = canonical(key)
	if _, ok := c.raw(key); !ok {
		return nil, ErrNoSuchKey{key}
	}
	return []Setting{c.setting(key).hide(c.redactor())}, nil
}
