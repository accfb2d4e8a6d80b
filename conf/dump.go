package conf

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Hidden values, in JSON and, as Hadoop has it, in XML.
const redacted, redactedXML = "<redacted>", "******"

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
		for name := range c.unread {
			names[name] = true
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
	case !ok && c.unread[name].file != "":
		s.Sources = []string{c.unread[name].file}
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
	if key == "dfs.client.ignore.namenode.default.kms.uri" {
		return "core-default.xml" // the only one of HDFS there
	}
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
	settings, err := c.chosen(key)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8" standalone="no"?><configuration>` + "\n")
	for _, s := range settings {
		if s.Raw == redacted {
			s.Raw = redactedXML
		}
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value><final>%t</final>", xmlText(s.Key), xmlText(s.Raw), s.Final)
		for _, source := range s.Sources {
			b.WriteString("<source>" + xmlText(source) + "</source>")
		}
		b.WriteString("</property>\n")
	}
	b.WriteString("</configuration>\n")
	_, err = b.WriteTo(w)
	return err
}

// xmlText escapes a text as Java does: quotes and line breaks stay as they are, for scripts that search lines.
// Characters that XML can't hold become U+FFFD.
func xmlText(s string) string {
	valid := strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= ' ' && r < 0xfffe || r > 0xffff {
			return r
		}
		return '\ufffd'
	}, s)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(valid)
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

// chosen returns what /conf shows: the settings of Hadoop's default files too, which aren't read here.
func (c *Config) chosen(key string) ([]Setting, error) {
	c = c.clone()
	c.unread = unread()
	if key == "" {
		all := slices.Collect(c.Settings())
		for i := range all {
			c.connect(&all[i])
		}
		return all, nil
	}
	key = Canonical(key)
	if _, ok := c.raw(key); !ok {
		return nil, ErrNoSuchKey{key}
	}
	s := c.setting(key).hide(c.redactor())
	c.connect(&s)
	return []Setting{s}, nil
}

// connect makes the setting of a ResourceManager's address what a Hadoop that has opened the port shows: host and port
// without variables. Programs read it from /conf.
func (c *Config) connect(s *Setting) {
	for _, name := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address"} {
		if key := "yarn.resourcemanager." + name; s.Key == key || strings.HasPrefix(s.Key, key+".") {
			s.Raw, s.Sources = s.Value, []string{"programmatically"}
		}
	}
}

//go:embed facts/default-files.tsv
var defaultFiles string

// unreadDefault is a value in one of Hadoop's default files.
type unreadDefault struct{ file, value string }

// unread are the settings of Hadoop's default files that aren't YARN's, by key.
var unread = sync.OnceValue(func() map[string]unreadDefault {
	out, file := map[string]unreadDefault{}, ""
	escapes := strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`)
	for name, value := range facts(defaultFiles) {
		if at, ok := strings.CutPrefix(name, ":"); ok {
			file = at
			continue
		}
		out[name] = unreadDefault{file, escapes.Replace(value)}
	}
	return out
})
