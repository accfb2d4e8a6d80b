package conf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of a key's values.
type Kind int

// Kinds of values.
const (
	Text     Kind = iota // anything
	Int                  // integer
	Float                // number
	Bool                 // true or false
	Duration             // integer with or without a unit
	Size                 // bytes, with or without k, m, g, …
	Enum                 // one of a few words
	Hostport             // host:port
	List                 // words between commas
	Class                // name of a Java class
	Path                 // absolute path in the local file system
	Paths                // list of such paths
	URI                  // URI or path in any file system
)

// Key is one line of the registry: everything known about a configuration key.
type Key struct {
	Name        string // <…> in it stands for a part that the user chooses
	Default     string // as in Hadoop's *-default.xml, may have variables; "" if there is none
	Kind        Kind
	Unit        time.Duration // of a Duration without a unit
	Doc         string        // its meaning, in one line
	Implemented bool          // whether it has an effect in Heddle

	lowest, highest float64  // range of numbers; durations in Unit, sizes in bytes
	words           []string // all values of an Enum or Class (nil: any); otherwise values allowed outside the range
}

// The functions below build the registry: one for each kind, and methods that restrict a key.

func newKey(kind Kind, name, def, doc string) Key {
	return Key{
		Name: name, Default: def, Kind: kind, Doc: doc, Implemented: true,
		lowest: math.Inf(-1), highest: math.Inf(1),
	}
}

func text(name, def, doc string) Key     { return newKey(Text, name, def, doc) }
func integer(name, def, doc string) Key  { return newKey(Int, name, def, doc) }
func float(name, def, doc string) Key    { return newKey(Float, name, def, doc) }
func boolean(name, def, doc string) Key  { return newKey(Bool, name, def, doc) }
func size(name, def, doc string) Key     { return newKey(Size, name, def, doc) }
func hostport(name, def, doc string) Key { return newKey(Hostport, name, def, doc) }
func list(name, def, doc string) Key     { return newKey(List, name, def, doc) }
func path(name, def, doc string) Key     { return newKey(Path, name, def, doc) }
func paths(name, def, doc string) Key    { return newKey(Paths, name, def, doc) }
func uri(name, def, doc string) Key      { return newKey(URI, name, def, doc) }

func millis(name, def, doc string) Key  { return newDuration(time.Millisecond, name, def, doc) }
func seconds(name, def, doc string) Key { return newDuration(time.Second, name, def, doc) }

func newDuration(unit time.Duration, name, def, doc string) Key {
	k := newKey(Duration, name, def, doc)
	k.Unit = unit
	return k
}

func enum(name, def, doc string, words ...string) Key {
	k := newKey(Enum, name, def, doc)
	k.words = words
	return k
}

// listOf returns a list of a few words, in any case of letters.
func listOf(name, def, doc string, words ...string) Key {
	k := newKey(List, name, def, doc)
	k.words = words
	return k
}

// class returns a key that names a Java class. Heddle knows only the classes in known; without known it accepts any name.
func class(name, def, doc string, known ...string) Key {
	k := newKey(Class, name, def, doc)
	k.words = known
	return k
}

// min and max limit numbers.
func (k Key) min(v float64) Key { k.lowest = v; return k }
func (k Key) max(v float64) Key { k.highest = v; return k }

// or allows values outside of the range, such as -1 for "off".
func (k Key) or(values ...string) Key { k.words = values; return k }

// later marks a key that has no effect in Heddle yet.
func (k Key) later() Key { k.Implemented = false; return k }

// severity is that of a wrong value. Hadoop takes the default of a boolean that is neither true nor false.
func (k Key) severity() Severity {
	if !k.Implemented || k.Kind == Bool && !strings.HasPrefix(k.Name, "heddle.") {
		return Warning
	}
	return Error
}

// Allowed describes in words which values are allowed.
func (k Key) Allowed() string {
	var s string
	if k.Kind == List && len(k.words) > 0 {
		return "a list of " + strings.Join(k.words, ", ")
	}
	switch k.Kind {
	case Text, List, URI:
		return "any text"
	case Bool:
		return "true or false"
	case Enum, Class:
		if len(k.words) == 0 {
			return "the name of a Java class"
		}
		return "one of " + strings.Join(k.words, ", ")
	case Hostport:
		return "host:port with a port from 0 to 65535"
	case Path:
		return "an absolute path"
	case Paths:
		return "absolute paths, separated by commas"
	case Int:
		s = "an integer"
	case Float:
		s = "a number"
	case Size:
		s = "a number of bytes, or one with k, m, g, t, p or e,"
	case Duration:
		s = "an integer (" + unitName(k.Unit) + "), or one with a unit (ms, s, m, h, d),"
	}
	lo, hi := bound(k.lowest), bound(k.highest)
	switch {
	case !math.IsInf(k.lowest, 0) && !math.IsInf(k.highest, 0):
		s += " from " + lo + " to " + hi
	case !math.IsInf(k.lowest, 0):
		s += " of at least " + lo
	case !math.IsInf(k.highest, 0):
		s += " of at most " + hi
	}
	s = strings.TrimSuffix(s, ",")
	if len(k.words) > 0 {
		s += ", or " + strings.Join(k.words, ", ")
	}
	return s
}

func bound(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func unitName(unit time.Duration) string {
	switch unit {
	case time.Millisecond:
		return "milliseconds"
	case time.Second:
		return "seconds"
	}
	return "units of " + unit.String()
}

// Plain reports whether a value of the key is right, and nothing but an amount, a time, or one of the words that the key knows: it names no user and no place.
func (k Key) Plain(value string) bool {
	switch k.Kind {
	case Int, Float, Bool, Duration, Size:
	case Enum, Class:
		if len(k.words) == 0 {
			return false
		}
	default:
		return false
	}
	return k.check(value) == nil
}

// check returns what is wrong with a value whose variables are replaced.
func (k Key) check(value string) error {
	value = trim(value)
	switch k.Kind {
	case Enum, Class:
		if len(k.words) > 0 && !slices.Contains(k.words, value) {
			return fmt.Errorf("must be %s", k.Allowed())
		}
		return nil
	case Bool:
		_, err := ParseBool(value)
		return err
	case Hostport:
		_, err := ParseAddress(value, k.defaultPort())
		return err
	case Path, Paths:
		return checkPaths(k, value)
	case List:
		for _, part := range ParseList(value) {
			if len(k.words) > 0 && !slices.ContainsFunc(k.words, func(w string) bool { return strings.EqualFold(w, part) }) {
				return fmt.Errorf("%q isn't one of them: must be %s", part, k.Allowed())
			}
		}
		return nil
	case Int, Float, Duration, Size:
	default:
		return nil
	}
	if slices.Contains(k.words, value) {
		return nil
	}
	n, err := k.number(value)
	if err != nil {
		return err
	}
	if n < k.lowest || n > k.highest {
		return fmt.Errorf("must be %s", k.Allowed())
	}
	return nil
}

// number parses a value of a numeric kind. Durations count k.Unit.
func (k Key) number(value string) (float64, error) {
	switch k.Kind {
	case Int:
		n, err := ParseInt(value)
		return float64(n), err
	case Size:
		n, err := ParseSize(value)
		return float64(n), err
	case Duration:
		d, err := ParseDuration(value, k.Unit)
		return float64(d) / float64(k.Unit), err
	}
	return ParseFloat(value)
}

// defaultPort returns the port of the default address. Addresses without a port get it. It is −1 if there is none.
func (k Key) defaultPort() int {
	_, port, ok := cutLast(k.Default, ":")
	if n, err := strconv.ParseUint(port, 10, 16); ok && err == nil {
		return int(n)
	}
	return -1
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func checkPaths(k Key, value string) error {
	parts := []string{value}
	if k.Kind == Paths {
		parts = ParseList(value)
	}
	for _, p := range parts {
		local, err := localPath(p)
		if err != nil {
			return err
		}
		if v := variable.FindString(local); v != "" {
			return fmt.Errorf("nothing defines %s", v)
		}
		if !strings.HasPrefix(local, "/") {
			return fmt.Errorf("must be %s, but %q is not absolute", k.Allowed(), p)
		}
	}
	return nil
}

// localPath removes what Hadoop allows around local paths: a file: scheme.
func localPath(s string) (string, error) {
	s = trim(s)
	if rest, ok := strings.CutPrefix(s, "file:"); ok {
		if authority, ok := strings.CutPrefix(rest, "//"); ok {
			rest = authority
			if host, _, _ := strings.Cut(authority, "/"); host != "" && host != "localhost" {
				return "", fmt.Errorf("%q lies on another host", s)
			} else if rest = strings.TrimPrefix(authority, host); rest == "" {
				return "", fmt.Errorf("%q has no path", s)
			}
		}
		return rest, nil
	}
	if i := strings.Index(s, "://"); i > 0 {
		return "", fmt.Errorf("%q is not in the local file system", s)
	}
	return s, nil
}
