package hadooplab

import (
	"os"
	"strconv"
	"testing"
)

// Runs returns how often a benchmark runs each of two ways: as the environment variable says, or five times.
func Runs(b *testing.B, variable string) int {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s=%s: give a number of runs", variable, text)
	}
	return n
}

// SecondsTurn reports whether run i, from 0 on, is one of the second way, in the order first, second, second, first, first, …: whatever changes steadily
// meanwhile then concerns both alike.
func SecondsTurn(i int) bool { return (i+1)/2%2 == 1 }
