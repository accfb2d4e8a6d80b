//go:build race

package light

// detects says that the race detector is on.
const detects = true
