package conf

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Get returns any key's value, with variables replaced and without surrounding white space. ok is false if nothing sets
// the key and it has no default, or if its variables can't be replaced, which Validate reports.
func (c *Config) Get(key string) (value string, ok bool) {
	value, ok, err := c.lookup(key)
	return value, ok && err == nil
}

// IsSet reports whether a file, the command line or the program has set a key.
func (c *Config) IsSet(key string) bool {
	_, ok := c.props.Get(key)
	return ok
}

// Where returns where a key was set. ok is false if it has its default.
func (c *Config) Where(key string) (at Source, ok bool) {
	p, ok := c.props.Get(key)
	return p.Source, ok
}

// Verbatim returns any key's value, or its default, with variables replaced and white space kept. In an access control
// list a blank means no user.
func (c *Config) Verbatim(key string) (value string, ok bool) {
	key = Canonical(key)
	if value, ok = c.raw(key); !ok {
		return "", false
	}
	value, err := c.expandFor(value, []string{key})
	return value, err == nil
}

// Given returns the settings of c that are in no file: those of the command line and of the program, secrets among them.
func Given(c *Config) map[string]string {
	out := map[string]string{}
	for p := range c.props.All() {
		if strings.HasPrefix(p.Source.File, "<") {
			out[p.Name] = c.setting(p.Name).Value
		}
	}
	return out
}

// WithPrefix returns the values of all keys that start with prefix, by the rest of their names.
func (c *Config) WithPrefix(prefix string) map[string]string { return c.withPrefix(prefix, c.Get) }

// VerbatimWithPrefix does the same with white space kept; see Verbatim.
func (c *Config) VerbatimWithPrefix(prefix string) map[string]string {
	return c.withPrefix(prefix, c.Verbatim)
}

func (c *Config) withPrefix(prefix string, get func(string) (string, bool)) map[string]string {
	out := map[string]string{}
	add := func(key string) {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			if v, ok := get(key); ok {
				out[rest] = v
			}
		}
	}
	for key := range keys().defaults {
		add(key)
	}
	for p := range c.props.All() {
		add(p.Name)
	}
	return out
}

// get returns the value of a key of the registry, or its default if the value is invalid. It panics if the key's kind
// isn't one of kinds; without kinds it accepts any.
func (c *Config) get(key string, kinds ...Kind) (string, Key) {
	k, ok := FindKey(key)
	if !ok {
		panic(fmt.Sprintf("conf: %s is not in the registry", key))
	}
	if len(kinds) > 0 && !slices.Contains(kinds, k.Kind) {
		panic(fmt.Sprintf("conf: %s is not of the kind that was asked for", key))
	}
	if v, ok := c.Get(key); ok && k.check(v) == nil {
		return v, k
	}
	def, err := c.Expand(k.Default)
	if err != nil || k.check(def) != nil {
		return "", k
	}
	return def, k
}

// Text returns a value of any kind as text; "" if there is none.
func (c *Config) Text(key string) string {
	v, _ := c.get(key)
	return v
}

// Int returns an integer; 0 if the key has neither value nor default.
func (c *Config) Int(key string) int {
	v, _ := c.get(key, Int)
	n, _ := ParseInt(v)
	return int(n)
}

// Float returns a number; 0 if the key has neither value nor default.
func (c *Config) Float(key string) float64 {
	v, _ := c.get(key, Float)
	n, _ := ParseFloat(v)
	return n
}

// Bool returns a truth value; false if the key has neither value nor default.
func (c *Config) Bool(key string) bool {
	v, _ := c.get(key, Bool)
	b, _ := ParseBool(v)
	return b
}

// Duration returns a duration; 0 if the key has neither value nor default. A special value such as -1 is returned as
// that many units.
func (c *Config) Duration(key string) time.Duration {
	v, k := c.get(key, Duration)
	d, _ := ParseDuration(v, k.Unit)
	return d
}

// Size returns a number of bytes; 0 if the key has neither value nor default.
func (c *Config) Size(key string) int64 {
	v, _ := c.get(key, Size)
	n, _ := ParseSize(v)
	return n
}

// Strings returns the parts of a list; nil if there are none.
func (c *Config) Strings(key string) []string {
	v, _ := c.get(key, List)
	return ParseList(v)
}

// Address returns a host and port; the zero Address if the key has neither value nor default.
func (c *Config) Address(key string) Address {
	v, k := c.get(key, Hostport)
	a, _ := ParseAddress(v, k.defaultPort())
	return a
}

// Path returns a path in the local file system, without a file: scheme; "" if the key has neither value nor default.
func (c *Config) Path(key string) string {
	v, _ := c.get(key, Path)
	return cleanLocal(v)
}

// Paths returns paths in the local file system, without file: schemes.
func (c *Config) Paths(key string) []string {
	v, _ := c.get(key, Paths)
	out := ParseList(v)
	for i := range out {
		out[i] = cleanLocal(out[i])
	}
	return out
}

func cleanLocal(p string) string {
	if p == "" {
		return ""
	}
	local, _ := localPath(p)
	return filepath.Clean(local)
}

// StateDir returns the folder of the state of one role, such as rm, and id, such as rm1 or a node's host and port.
func (c *Config) StateDir(role, id string) string {
	safe := strings.Map(func(r rune) rune {
		if r == filepath.Separator || r == ':' || r < ' ' {
			return '_'
		}
		return r
	}, id)
	return filepath.Join(c.Path("heddle.state.dir"), role+"-"+safe)
}

// forever stands for -1 where a key gives it that meaning.
const forever = time.Duration(math.MaxInt64)

// Limit returns a duration of a key in which -1 means for ever, which is the longest Duration.
func (c *Config) Limit(key string) time.Duration {
	if d := c.Duration(key); d >= 0 {
		return d
	}
	return forever
}
