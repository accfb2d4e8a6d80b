package conf

import (
	"cmp"
	_ "embed"
	"iter"
	"maps"
	"strings"
	"sync"
)

//go:embed facts/deprecated-keys.tsv
var deprecatedFacts string

//go:embed facts/renamed-keys.tsv
var renamedFacts string

// deprecated maps names that Hadoop or Heddle deprecates to those that replace them.
var deprecated = sync.OnceValue(func() map[string]string {
	names := maps.Collect(iter.Seq2[string, string](facts(deprecatedFacts)))
	maps.Insert(names, iter.Seq2[string, string](facts(renamedFacts)))
	return names
})

// Canonical returns the present name of a key.
func Canonical(name string) string {
	for range 4 { // a replacement may itself be deprecated; more steps would be a loop
		name = cmp.Or(deprecated()[name], name)
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
