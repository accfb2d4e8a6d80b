// Package krb5conf reads the configuration of Kerberos, krb5.conf, with the files that it includes. gokrb5 ignores include and includedir without a word,
// and takes the last of several values and sections, where MIT's library takes the first value and joins sections. So this package makes one text of all
// files, in which each section, realm and value occurs once, and gives gokrb5 that.
package krb5conf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"heddle/internal/bounded"

	"github.com/jcmturner/gokrb5/v8/config"
)

// DefaultPath is where the file is, unless $KRB5_CONFIG names others.
const DefaultPath = "/etc/krb5.conf"

const (
	maxDepth = 10      // of files that include files
	maxFiles = 1000    // in all
	maxBytes = 1 << 20 // of a file
)

// Paths returns the files that a value of $KRB5_CONFIG names.
func Paths(environment string) []string {
	var paths []string
	for path := range strings.SplitSeq(environment, ":") {
		if path != "" {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return []string{DefaultPath}
	}
	return paths
}

// Config is a krb5.conf.
type Config struct {
	*config.Config
	// capaths are the values of its section of that name, by the realms of clients and services.
	capaths map[[2]string][]string
}

// Load reads files and what they include. Values of earlier files count.
func Load(paths ...string) (c *Config, err error) {
	j := &joined{}
	for _, path := range paths {
		if err := j.file(path, 0); err != nil {
			return nil, fmt.Errorf("krb5.conf: %w", err)
		}
	}
	defer func() {
		if p := recover(); p != nil { // some of gokrb5's parsers index what may be missing
			c, err = nil, fmt.Errorf("krb5.conf %s: malformed: %v", strings.Join(paths, ":"), p)
		}
	}()
	known, err := config.NewFromString(j.text())
	if unsupported := (config.UnsupportedDirective{}); err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("krb5.conf %s: %w", strings.Join(paths, ":"), err)
	}
	return &Config{known, j.capaths()}, nil
}

// RealmOf returns the realm of a host: by [domain_realm], or else the default one.
func RealmOf(c *Config, host string) string {
	if r := c.ResolveRealm(host); r != "" {
		return r
	}
	return c.LibDefaults.DefaultRealm
}

// joined has the contents of all files. Sections and realms are in the order in which they came.
type joined struct {
	files    int
	sections []*section
}

type section struct {
	name   string // libdefaults, realms, …; of a realm its name
	lines  []string
	keys   map[string]bool // of the lines
	realms []*section      // of realms and capaths
	listed bool            // each relation may have several values
}

// many are the relations of which a realm may have several; of the others the first counts.
var many = []string{"kdc", "admin_server", "kpasswd_server", "auth_to_local", "auth_to_local_names"}

func find(in *[]*section, name string) *section {
	for _, s := range *in {
		if s.name == name {
			return s
		}
	}
	s := &section{name: name, keys: map[string]bool{}}
	*in = append(*in, s)
	return s
}

func (s *section) add(key, line string) {
	if s.keys[key] && !s.listed && !slices.Contains(many, key) {
		return
	}
	s.keys[key] = true
	s.lines = append(s.lines, line)
}

func (j *joined) file(path string, depth int) error {
	if j.files++; j.files > maxFiles || depth > maxDepth {
		return fmt.Errorf("%s: more than %d files, or files that include each other", path, maxFiles)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := bounded.ReadAll(f, maxBytes)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return j.parse(path, string(b), func(directive, path string) error { return j.include(directive, path, depth+1) })
}

// included are the names of files that includedir takes (MIT: profile_process_directory).
var included = regexp.MustCompile(`^([A-Za-z0-9_-]+|[^.].*\.conf)$`)

func (j *joined) include(directive, path string, depth int) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%s %s: the path must be absolute", directive, path)
	}
	if directive == "include" {
		return j.file(path, depth)
	}
	entries, err := os.ReadDir(path) // by name
	if err != nil {
		return fmt.Errorf("%s: %w", directive, err)
	}
	for _, e := range entries {
		if included.MatchString(e.Name()) && !e.IsDir() {
			if err := j.file(filepath.Join(path, e.Name()), depth); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	headline = regexp.MustCompile(`^\[([^\]]+)\]\*?$`)
	relation = regexp.MustCompile(`^([^\s={}]+?)\*?\s*=\s*(.*)$`)
)

// parse adds the lines of a file. Errors name it and the line.
func (j *joined) parse(path, text string, include func(directive, path string) error) error {
	var at, realm *section
	skipped := 0 // depth in braces of what isn't a realm
	number := 0
	wrong := func(why string) error { return fmt.Errorf("%s:%d: %s", path, number, why) }
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if word, rest, ok := strings.Cut(line, " "); ok && (word == "include" || word == "includedir") {
			if err := include(word, strings.TrimSpace(rest)); err != nil {
				return fmt.Errorf("%s:%d: %w", path, number, err)
			}
			continue
		}
		if m := headline.FindStringSubmatch(line); m != nil && realm == nil && skipped == 0 {
			at = find(&j.sections, m[1])
			continue
		}
		m := relation.FindStringSubmatch(line)
		switch {
		case at == nil:
			return wrong("a line before the first section, such as [libdefaults]")
		case line == "}" && skipped > 0:
			skipped--
		case line == "}" && realm != nil:
			realm = nil
		case m == nil && skipped > 0:
		case m == nil:
			return wrong(fmt.Sprintf("%q isn't NAME = VALUE", line))
		case skipped > 0:
			if m[2] == "{" {
				skipped++
			}
		case (at.name == "realms" || at.name == paths) && realm == nil && m[2] == "{":
			realm = find(&at.realms, m[1])
			realm.listed = at.name == paths
		case m[2] == "{":
			skipped++
		case realm != nil:
			realm.add(m[1], line)
		default:
			at.add(m[1], line)
		}
	}
	if realm != nil || skipped > 0 {
		return wrong("a } is missing")
	}
	return nil
}

// read are the sections that gokrb5 knows.
var read = []string{"libdefaults", "realms", "domain_realm"}

// text returns the joined file.
func (j *joined) text() string {
	var b strings.Builder
	for _, s := range j.sections {
		if !slices.Contains(read, s.name) {
			continue
		}
		fmt.Fprintf(&b, "[%s]\n", s.name)
		for _, line := range s.lines {
			fmt.Fprintf(&b, " %s\n", line)
		}
		for _, r := range s.realms {
			fmt.Fprintf(&b, " %s = {\n", r.name)
			for _, line := range r.lines {
				fmt.Fprintf(&b, "  %s\n", line)
			}
			b.WriteString(" }\n")
		}
		b.WriteString("\n") // gokrb5 knows a section by the number of its first line
	}
	return b.String()
}
