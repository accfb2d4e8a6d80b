package conf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Limits of the expansion of one value. Hadoop stops after 20 replacements. These limits count nesting, and leave room
// for a long list of short variables.
const (
	maxExpandDepth = 20
	maxExpandSteps = 1000
	maxExpandSize  = 1 << 20
)

// variable is Hadoop's pattern: a name has no blank, dollar or brace. The leftmost match of ${a${b}} is the inner one.
var variable = regexp.MustCompile(`\$\{[^}$ ]+\}`)

// An expander replaces variables as Hadoop's Configuration.substituteVars does.
type expander struct {
	system func(name string) (string, bool) // Java's system properties: win over properties
	getenv func(name string) (string, bool)
	raw    func(name string) (string, bool) // properties, not expanded

	steps int
}

// expand replaces the variables of text. Like Hadoop it stops at the first undefined variable, and leaves it and the
// rest unchanged. chain are the properties whose values led here.
func (x *expander) expand(text string, chain []string) (string, error) {
	for {
		at := variable.FindStringIndex(text)
		if at == nil {
			return text, nil
		}
		name := text[at[0]+2 : at[1]-1]
		value, ok := x.environment(name)
		if !ok {
			value, ok = x.system(name)
		}
		if !ok {
			var err error
			if value, ok, err = x.property(name, chain); err != nil {
				return "", err
			}
		}
		if !ok {
			return text, nil
		}
		if x.steps++; x.steps > maxExpandSteps {
			return "", fmt.Errorf("more than %d variables have to be replaced", maxExpandSteps)
		}
		if len(text)+len(value) > maxExpandSize {
			return "", fmt.Errorf("expands to more than %d bytes", maxExpandSize)
		}
		text = text[:at[0]] + value + text[at[1]:]
	}
}

func (x *expander) property(name string, chain []string) (string, bool, error) {
	name = Canonical(name)
	value, ok := x.raw(name)
	if !ok || !variable.MatchString(value) {
		return value, ok, nil
	}
	chain = append(slices.Clip(chain), name)
	if slices.Contains(chain[:len(chain)-1], name) {
		return "", false, fmt.Errorf("${%s} refers to itself: %s", name, strings.Join(chain, " → "))
	}
	if len(chain) > maxExpandDepth {
		return "", false, fmt.Errorf("variables are nested more than %d deep: %s", maxExpandDepth, strings.Join(chain, " → "))
	}
	value, err := x.expand(value, chain)
	return value, err == nil, err
}

// environment resolves env.NAME, env.NAME-default (where NAME isn't set) and env.NAME:-default (nor empty).
func (x *expander) environment(name string) (string, bool) {
	name, ok := strings.CutPrefix(name, "env.")
	if !ok || name == "" {
		return "", false
	}
	i := strings.IndexByte(name, '-')
	if i < 0 {
		return x.getenv(name)
	}
	fallback := name[i+1:]
	if i > 0 && name[i-1] == ':' {
		if value, _ := x.getenv(name[:i-1]); value != "" {
			return value, true
		}
		return fallback, true
	}
	if value, ok := x.getenv(name[:i]); ok {
		return value, true
	}
	return fallback, true
}
