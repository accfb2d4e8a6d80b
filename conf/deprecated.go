package conf

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed facts/deprecated-keys.tsv
var deprecatedFacts string

// deprecated maps the names that Hadoop has given up to those that replace them.
var deprecated = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for old, now := range facts(deprecatedFacts) {
		m[old] = now
	}
	return m
})

// Canonical returns the name that is in use now for a key.
func Canonical(name string) string { return canonical(name) }

func canonical(name string) string {
	m := deprecated()
	for range 4 { // a successor may itself have been replaced; more steps would be a loop
		now, ok := m[name]
		if !ok {
			break
		}
		name = now
	}
	return name
}

// facts yields the lines of a table: a name and what follows the tab, without comments.
func facts(table string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for line := range strings.Lines(table) {
			if line = strings.TrimSuffix(line, "\n"); line == "" || line[0] == '#' {
				continue
			}
			name, value, _ := strings.Cut(line, "\t")
			if !yield(name, value) {
				return
			}
		}
	}
}
