package daemon

import (
	"net/http"
	"slices"
)

// Mux is an http.ServeMux that knows what it serves: tests go through all of it, so that no new path is forgotten.
type Mux struct {
	http.ServeMux
	patterns []string
}

// Handle adds a handler for a pattern.
func (m *Mux) Handle(pattern string, h http.Handler) {
	m.patterns = append(m.patterns, pattern)
	m.ServeMux.Handle(pattern, h)
}

// HandleFunc adds a function for a pattern.
func (m *Mux) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	m.Handle(pattern, http.HandlerFunc(h))
}

// Patterns returns what was added, in that order.
func (m *Mux) Patterns() []string { return slices.Clone(m.patterns) }
