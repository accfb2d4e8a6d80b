package conf

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed facts/deprecated-keys.tsv
var deprecatedFacts string

// deprecated maps deprecated names to those that replace them.
var deprecated = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for old, now := range facts(deprecatedFacts) {
		m[old] = now
	}
	return m
})

// Canonical returns the present name of a key.
func Canonical(name string) string { return canonical(name) }

func canonical(name string) string {
	m := deprecated()
	for range 4 { // a replacement may itself be deprecated; more steps would be a loop
		now, ok := m[name]
		if !ok {
			break
		}
		name = now
	}
	return name
}

// facts yields the lines of a table, without comments: a name, and the text after the tab.
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
