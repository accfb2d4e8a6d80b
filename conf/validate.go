package conf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/conf/sinks"
)

// Check loads and validates a configuration folder, and doesn't stop at the first error. "" checks the defaults.
func Check(dir string) Report {
	_, r := CheckWith(Options{Dir: dir}, Everybody)
	return r
}

// CheckWith does the same for the roles, with all options. It returns the configuration as far as it can be read; errors of reading it are
// in the report.
func CheckWith(o Options, roles Role) (*Config, Report) {
	c, errs := load(o)
	r := c.ValidateFor(roles)
	for _, err := range errs {
		p := asProblem(err)
		p.Roles = roles
		r.Problems = append(r.Problems, p)
	}
	sortProblems(r.Problems)
	return c, r
}

func asProblem(err error) Problem {
	var by *StartedBy
	starter := errors.As(err, &by)
	var se *SyntaxError
	if errors.As(err, &se) {
		return Problem{Severity: Error, Source: se.Source, Message: se.Reason}
	}
	return Problem{Severity: Error, Message: err.Error(), Starter: starter}
}

// validation collects the problems of one configuration.
type validation struct {
	c        *Config
	secret   redactor
	problems []Problem
}

// Validate reports all problems of the values: errors, which must keep a role from starting, warnings, and settings
// that have no effect in Heddle.
func (c *Config) Validate() Report { return c.ValidateFor(Everybody) }

// ValidateFor does so for some roles: an error in a key that none of them reads is a warning.
func (c *Config) ValidateFor(roles Role) Report {
	v := &validation{c: c, secret: c.redactor(), problems: c.props.Problems()}
	for p := range c.props.All() {
		v.property(p)
	}
	for k := range Keys() {
		v.fallback(k)
	}
	c.checkResources(v)
	v.resourceManagers()
	v.ports()
	v.raft()
	v.witness()
	v.neverLead()
	v.clusterSecret()
	v.times()
	v.scheduler()
	v.suspension()
	v.stagePolicy()
	v.probes()
	v.folder()
	v.sinks()
	v.judgeFor(roles)
	for i := range v.problems {
		v.problems[i].Value = v.secret.redact(v.problems[i].Key, v.problems[i].Value)
	}
	sortProblems(v.problems)
	return Report{Dir: c.dir, Problems: v.problems}
}

// problem records a problem of a key's value or default.
func (v *validation) problem(s Severity, key, message, allowed string) {
	p := Problem{Severity: s, Source: Source{File: "<default>"}, Key: key, Message: message, Allowed: allowed}
	if at, ok := v.c.Where(key); ok {
		p.Source = at
	}
	p.Value, _ = v.c.Get(key)
	if p.Value == "" {
		p.Source = Source{}
	}
	v.problems = append(v.problems, p)
}

// property checks a key that is set.
func (v *validation) property(p Property) {
	value, ok, err := v.c.lookup(p.Name)
	if err != nil {
		severity := Error
		if k, registered := FindKey(p.Name); !registered || !k.Implemented {
			severity = Warning // it isn't read
		}
		v.problems = append(v.problems, Problem{Severity: severity, Source: p.Source, Key: p.Name, Value: p.Value, Message: err.Error()})
		return
	}
	k, registered := FindKey(p.Name)
	known := keys().knownYARN(p.Name)
	switch {
	case registered && !ok && k.Kind != Text && k.Kind != List:
		v.problem(k.severity(), p.Name, "is blank", k.Allowed())
	case registered:
		v.registered(k, value)
	case strings.HasPrefix(p.Name, "heddle."):
		v.unknown(Error, p.Name, "Heddle has no such key")
	case !strings.HasPrefix(p.Name, "yarn.") || hasPrefixOf(p.Name, foreign):
	case !known:
		v.unknown(Warning, p.Name, "YARN has no such key")
	default:
		if def, _ := v.c.Expand(keys().defaults[p.Name]); value != trim(def) {
			v.problem(Info, p.Name, "is known but has no effect in Heddle", "")
		}
	}
	if filepath.Base(p.Source.File) == "core-site.xml" && strings.HasPrefix(p.Name, "yarn.") && keys().defaults[p.Name] != "" {
		v.problem(Warning, p.Name, "Hadoop ignores this in core-site.xml, as yarn-default.xml overrides it; it belongs in yarn-site.xml", "")
	}
}

// registered checks a value of a key in the registry.
func (v *validation) registered(k Key, value string) {
	if err := k.check(value); value != "" && err != nil {
		severity, message := k.severity(), err.Error()
		if severity == Warning && k.Kind == Bool {
			message += ", and counts as " + cmp.Or(k.Default, "unset") + ", as in Hadoop"
		}
		if unset := variable.FindString(value); unset != "" && !strings.Contains(message, unset) {
			message += "; nothing defines " + unset
		}
		v.problem(severity, k.Name, message, k.Allowed())
		return
	}
	if def, _ := v.c.Expand(k.Default); !k.Implemented && value != trim(def) {
		v.problem(Info, k.Name, "is known but has no effect in Heddle yet ("+k.Doc+")", "")
	}
}

// fallback checks the default of a key that isn't set: variables in it may make it invalid.
func (v *validation) fallback(k Key) {
	if v.c.IsSet(k.Name) || !k.Implemented || k.Default == "" || strings.Contains(k.Name, "<") {
		return
	}
	value, _, err := v.c.lookup(k.Name)
	if err == nil {
		err = k.check(value)
	}
	if err != nil {
		v.problem(Error, k.Name, "its default "+k.Default+" is invalid: "+err.Error(), k.Allowed())
	}
}

func (v *validation) unknown(s Severity, key, message string) {
	v.problem(s, key, message, "")
	v.problems[len(v.problems)-1].Suggestion = keys().nearest(key)
}

// sinks warns of sinks of metrics that get nothing.
func (v *validation) sinks() {
	told := map[string]bool{}
	for _, daemon := range []string{"resourcemanager", "nodemanager"} {
		_, problems, err := sinks.Of(v.c.dir, daemon)
		if err != nil {
			problems = append(problems, fmt.Sprintf("no sink gets metrics: %v", err))
		}
		for _, p := range problems {
			if !told[p] {
				v.problems = append(v.problems, Problem{Severity: Warning, Source: Source{File: v.c.dir}, Message: p})
			}
			told[p] = true
		}
	}
}

// folder warns about a folder without any configuration.
func (v *validation) folder() {
	if v.c.dir == "" {
		return
	}
	if !slices.ContainsFunc(siteFiles, func(name string) bool {
		_, err := os.Stat(filepath.Join(v.c.dir, name))
		return err == nil
	}) {
		v.problems = append(v.problems, Problem{
			Severity: Warning, Source: Source{File: v.c.dir},
			Message: fmt.Sprintf("has none of %s; all keys have their defaults", strings.Join(siteFiles, ", ")),
		})
	}
}
