package conf

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Severity says how bad a Problem is.
type Severity string

// Severities: an Error keeps Heddle from starting, a Warning is probably a mistake, an Info is a setting without effect
// in Heddle.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Problem is something wrong with a configuration.
type Problem struct {
	Severity   Severity
	Source     Source
	Key, Value string // "" if the problem concerns a whole file
	Message    string
	Allowed    string // which values are allowed; "" if that doesn't apply
	Suggestion string // a key that may have been meant; "" if none is near
	Roles      Role   // which daemons refuse to start because of an Error; 0 if that isn't known
	Starter    bool   // whether it is wrong for the user of this process, and may be right for others
}

// StartedBy marks an error that depends on the user who starts a daemon.
type StartedBy struct{ Err error }

func (e *StartedBy) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *StartedBy) Unwrap() error { return e.Err }

// Shorten keeps messages readable if a file has absurd names or values.
func Shorten(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:longest], ""), len(s))
}

// String returns one line: place, key and value, what is wrong, and how to mend it.
func (p Problem) String() string {
	var b strings.Builder
	if p.Source.File != "" {
		b.WriteString(p.Source.String() + ": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key)
		if p.Value != "" {
			fmt.Fprintf(&b, " = %q", p.Value)
		}
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	if p.Allowed != "" && !strings.Contains(p.Message, p.Allowed) {
		b.WriteString("; allowed: " + p.Allowed)
	}
	if p.Suggestion != "" {
		b.WriteString("; did you mean " + p.Suggestion + "?")
	}
	return b.String()
}

// Report is the result of Validate or Check.
type Report struct {
	Dir      string // the configuration's folder; "" if it has none
	Problems []Problem
}

// OK reports whether there is no error. There may be warnings.
func (r Report) OK() bool { return r.count(Error) == 0 }

// Err returns the errors as one error, or nil.
func (r Report) Err() error { return r.ErrFor(Everybody) }

// ErrFor returns the errors because of which any of some roles refuses to start.
func (r Report) ErrFor(roles Role) error {
	var errs []error
	for _, p := range r.Problems {
		if p.Severity == Error && (p.Roles == 0 || p.Roles&roles != 0) {
			errs = append(errs, problemError(p))
		}
	}
	return errors.Join(errs...)
}

// Add adds problems that others than Validate have found, and an error, which may come from Err. Of problems that the report has already
// it adds only which daemons refuse them.
func (r *Report) Add(problems []Problem, err error) {
	for _, p := range append(slices.Clone(problems), Problems(err)...) {
		i := slices.IndexFunc(r.Problems, func(old Problem) bool {
			return old.Severity == p.Severity && (old.Key == p.Key || p.Key == "") && (strings.HasSuffix(old.Message, p.Message) || strings.HasSuffix(p.Message, old.Message))
		})
		if i < 0 {
			r.Problems = append(r.Problems, p)
		} else if p.Roles != 0 {
			r.Problems[i].Roles |= p.Roles
		}
	}
	sortProblems(r.Problems)
}

// daemons are the roles that refuse to start.
const daemons = ResourceManager | NodeManager | Witness

// refusers names the daemons that don't start because of an error, if others start.
func (p Problem) refusers() string {
	if by := p.Roles & daemons; p.Severity == Error && by != 0 && by != daemons {
		return " (" + by.String() + ")"
	}
	return ""
}

// refusers returns the daemons that don't start.
func (r Report) refusers() (by Role) {
	for _, p := range r.Problems {
		if p.Severity == Error {
			by |= p.Roles & daemons
		}
	}
	return by
}

// problemError is a Problem as an error.
type problemError Problem

func (p problemError) Error() string { return Problem(p).String() }

// AtKey returns a problem of a key's value, with the place that sets it. The roles are those that read the key.
func AtKey(c *Config, severity Severity, key string, err error) Problem {
	p := Problem{Severity: severity, Key: key, Message: strings.TrimPrefix(err.Error(), key+": "), Roles: ReadBy(key)}
	p.Source, _ = c.Where(key)
	value, _ := c.Get(key)
	p.Value = c.redactor().redact(key, value)
	return p
}

// ErrorAt returns an error in a key's value as Problems understands it; key may be "", and the error may have a place already.
func ErrorAt(c *Config, key string, err error) error {
	var at problemError
	if key == "" || errors.As(err, &at) {
		return err
	}
	p := AtKey(c, Error, key, err)
	p.Starter = errors.As(err, new(*StartedBy))
	return problemError(p)
}

// Problems returns those that an error of this package, or of others that join theirs as Err does, has. Others have no place.
func Problems(err error) (all []Problem) {
	switch e := err.(type) {
	case nil:
	case problemError:
		all = append(all, Problem(e))
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, Problems(one)...)
		}
	default:
		all = append(all, asProblem(err))
	}
	return all
}

func (r Report) count(s Severity) int {
	n := 0
	for _, p := range r.Problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// WriteText writes the report for people: errors first, a summary last.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "%-8s %s%s\n", p.Severity+":", p, p.refusers())
	}
	name := r.Dir
	if name == "" {
		name = "the built-in configuration"
	}
	verdict := "is fine"
	if !r.OK() {
		verdict = "can't be used"
		if by := r.refusers(); by != 0 {
			verdict = "can't be used by " + by.String()
		}
		if r.refusers() == daemons {
			verdict = "can't be used by any daemon"
		}
	}
	fmt.Fprintf(&b, "%s %s: %s, %s", name, verdict, plural(r.count(Error), "error"), plural(r.count(Warning), "warning"))
	if n := r.count(Info); n > 0 { // beside those that warnings are about
		fmt.Fprintf(&b, ", %s", plural(n, "further setting without effect", "further settings without effect"))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func plural(n int, forms ...string) string {
	if n == 1 {
		return "1 " + forms[0]
	}
	if len(forms) > 1 {
		return fmt.Sprintf("%d %s", n, forms[1])
	}
	return fmt.Sprintf("%d %ss", n, forms[0])
}

// WriteJSON writes the report for programs: {"dir", "ok", "problems": [{"severity", "file", "line", "key", "value",
// "message", "allowed", "suggestion", "daemons"}]}. It omits members of a problem that don't apply.
func (r Report) WriteJSON(w io.Writer) error {
	type problem struct {
		Severity   Severity `json:"severity"`
		File       string   `json:"file,omitempty"`
		Line       int      `json:"line,omitempty"`
		Key        string   `json:"key,omitempty"`
		Value      string   `json:"value,omitempty"`
		Message    string   `json:"message"`
		Allowed    string   `json:"allowed,omitempty"`
		Suggestion string   `json:"suggestion,omitempty"`
		Daemons    string   `json:"daemons,omitempty"`
	}
	out := struct {
		Dir      string    `json:"dir"`
		OK       bool      `json:"ok"`
		Problems []problem `json:"problems"`
	}{Dir: r.Dir, OK: r.OK(), Problems: []problem{}}
	for _, p := range r.Problems {
		out.Problems = append(out.Problems, problem{
			p.Severity, p.Source.File, p.Source.Line, p.Key, p.Value, p.Message, p.Allowed, p.Suggestion, (p.Roles & daemons).String(),
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

// sortProblems puts errors first, and sorts problems of one severity by file, line and key.
func sortProblems(problems []Problem) {
	rank := map[Severity]int{Error: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(rank[a.Severity], rank[b.Severity]),
			cmp.Compare(a.Source.File, b.Source.File),
			cmp.Compare(a.Source.Line, b.Source.Line),
			cmp.Compare(a.Key, b.Key),
		)
	})
}
