// Package option reads command lines as Hadoop's commands do (commons-cli: GnuParser, which yarn's commands use).
// Options are words of any length with one dash or two, and take one or several values. A value may begin with a dash
// unless it is the name of an option.
package option

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/internal/nearness"
)

// Unlimited lets an option take all values that follow.
const Unlimited = -1

// Option is an option of a command.
type Option struct {
	Name string // without dashes
	Long string // another name; may be empty
	// Arg describes the value in a word or two. An option with an empty Arg takes no value.
	Arg string
	// Values is the largest number of values, or Unlimited. 0 stands for one if there is an Arg, and otherwise for
	// none.
	Values int
	// Separator separates values within an argument; 0 means that nothing does.
	Separator byte
	// Optional allows the option without any value.
	Optional bool
	Help     string
	// Hidden options are accepted, but not listed in the usage.
	Hidden bool
	// Instead says what to use instead of an option that yarn's command has and this one hasn't.
	Instead string
}

// Elsewhere are options that one of Hadoop's commands has, and Heddle's of the same name hasn't. Hadoop's works with Heddle.
func Elsewhere(command string, names ...string) (all []Option) {
	for _, name := range names {
		all = append(all, Option{Name: name, Instead: "use Hadoop's `yarn " + command + " -" + name + "`, which works with Heddle"})
	}
	return all
}

func (o *Option) limit() int {
	if o.Values == 0 && o.Arg != "" {
		return 1
	}
	return o.Values
}

// Set is the set of a command's options.
type Set struct {
	options []Option
}

// NewSet returns a set of options.
func NewSet(options ...Option) *Set { return &Set{options: options} }

// Add adds options.
func (s *Set) Add(options ...Option) { s.options = append(s.options, options...) }

// find returns the option that a word with its dashes names, or nil.
func (s *Set) find(word string) *Option {
	name := bare(word)
	if name == "" {
		return nil
	}
	for i := range s.options {
		if o := &s.options[i]; o.Name == name || o.Long == name {
			return o
		}
	}
	return nil
}

// meant returns the option that is most like a misspelt one, with a dash, or "".
func (s *Set) meant(word string) string {
	name := nearness.Nearest(bare(word), func(yield func(string) bool) {
		for _, o := range s.options {
			if !o.Hidden && o.Instead == "" && (!yield(o.Name) || o.Long != "" && !yield(o.Long)) {
				return
			}
		}
	})
	if name == "" {
		return ""
	}
	return "-" + name
}

// Has reports whether there is an option with the name, with or without dashes.
func (s *Set) Has(name string) bool { return s.find("-"+bare(name)) != nil }

// bare removes one or two dashes.
func bare(word string) string {
	return strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-")
}

// MissingArgumentError says that an option lacks its value.
type MissingArgumentError struct{ Option string }

func (e *MissingArgumentError) Error() string { return "Missing argument for option: " + e.Option }

// UnrecognizedError says that a word looks like an option but names none.
type UnrecognizedError struct {
	Word  string
	Meant string // the option that is most like it, with a dash; may be empty
}

func (e *UnrecognizedError) Error() string {
	text := "Unrecognized option: " + e.Word
	if e.Meant != "" {
		text += " (did you mean " + e.Meant + "?)"
	}
	return text
}

// AbsentError says that a command lacks an option that yarn's has, and what to use instead.
type AbsentError struct{ Word, Instead string }

func (e *AbsentError) Error() string { return "there is no " + e.Word + ": " + e.Instead }

// Line is a parsed command line.
type Line struct {
	// Args are the words that belong to no option.
	Args   []string
	values map[string][]string // by Option.Name
}

// Parse reads a command line. The error is a *MissingArgumentError, an *UnrecognizedError or an *AbsentError.
func (s *Set) Parse(args []string) (*Line, error) {
	words, rest := s.split(args)
	l := &Line{values: make(map[string][]string)}
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if len(word) < 2 || word[0] != '-' {
			l.Args = append(l.Args, word)
			continue
		}
		o := s.find(word)
		if o == nil {
			return nil, &UnrecognizedError{word, s.meant(word)}
		}
		if o.Instead != "" {
			return nil, &AbsentError{word, o.Instead}
		}
		var got []string
		for len(words) > 0 && (o.limit() == Unlimited || len(got) < o.limit()) {
			if words[0] != "" && words[0][0] == '-' && s.find(words[0]) != nil {
				break
			}
			got = append(got, o.cut(unquote(words[0]), len(got))...)
			words = words[1:]
		}
		if o.limit() != 0 && len(got) == 0 && !o.Optional {
			return nil, &MissingArgumentError{o.Name}
		}
		l.values[o.Name] = append(l.values[o.Name], got...)
	}
	l.Args = append(l.Args, rest...)
	return l, nil
}

// cut splits a value at the separators, into no more values than the option can still take.
func (o *Option) cut(value string, n int) []string {
	if o.Separator == 0 {
		return []string{value}
	}
	limit := -1
	if o.limit() != Unlimited {
		limit = o.limit() - n
	}
	return strings.SplitN(value, string(o.Separator), limit)
}

// split separates -name=value and -Dvalue into two words. rest are the words after a lone --.
func (s *Set) split(args []string) (words, rest []string) {
	for i, a := range args {
		name, value, assigned := strings.Cut(a, "=")
		switch {
		case a == "--":
			return words, args[i+1:]
		case len(a) < 2 || a[0] != '-' || s.find(a) != nil:
			words = append(words, a)
		case assigned && s.find(name) != nil:
			words = append(words, name, value)
		case a[1] != '-' && s.find(a[:2]) != nil:
			words = append(words, a[:2], a[2:])
		default:
			words = append(words, a)
		}
	}
	return words, nil
}

// unquote removes quotation marks around a value. Some scripts leave them there.
func unquote(s string) string {
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' && !strings.Contains(s[1:len(s)-1], `"`) {
		return s[1 : len(s)-1]
	}
	return s
}

// Has reports whether an option was given.
func (l *Line) Has(name string) bool {
	_, ok := l.values[name]
	return ok
}

// Value returns the first value of an option, or "".
func (l *Line) Value(name string) string {
	if v := l.values[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set gives an option a value, as if the command line had it.
func (l *Line) Set(name, value string) { l.values[name] = []string{value} }

// Values returns all values of an option.
func (l *Line) Values(name string) []string { return l.values[name] }

// usageWidth is the width of a usage text in columns.
const usageWidth = 100

// WriteUsage writes the usage of a command.
func (s *Set) WriteUsage(w io.Writer, title string) error {
	var heads []string
	var shown []Option
	widest := 0
	options := slices.Clone(s.options)
	slices.SortFunc(options, func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
	for _, o := range options {
		if o.Hidden || o.Instead != "" {
			continue
		}
		head := " -" + o.Name
		if o.Long != "" {
			head += ",--" + o.Long
		}
		if o.Arg != "" {
			head += " <" + o.Arg + ">"
		}
		heads, shown = append(heads, head), append(shown, o)
		widest = max(widest, len(head))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n", title)
	for i, o := range shown {
		for j, line := range wrap(o.Help, max(usageWidth-widest-3, 30)) {
			head := ""
			if j == 0 {
				head = heads[i]
			}
			fmt.Fprintf(&b, "%-*s   %s\n", widest, head, line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Words splits the values of an option at commas, and removes blanks and empty words.
func Words(values []string) []string {
	var out []string
	for _, v := range values {
		for w := range strings.SplitSeq(v, ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}
