package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// ballastSize is the size of the ballast, in bytes.
const ballastSize = 80 << 20

// ballast makes Go collect a small heap less often, and changes little for a large one, until release is called.
//
// A ResourceManager of a thousand nodes has some 20 MB of live objects, and allocates 150 MB a second under load. By
// default Go collects when the heap has doubled. That would be several collections a second, each with a quarter of the
// processors, which slows requests down. The ballast is a block that nobody touches: it takes no physical memory, but
// counts as live. So Go collects when the heap reaches twice the live data plus twice the ballast. GOGC and GOMEMLIMIT
// take precedence. Adapting GOGC to the heap would need no ballast. But it reacts late on a busy machine: a heap that
// has just become large would still grow by a small heap's percentage.
func ballast() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	block := make([]byte, ballastSize)
	return func() { runtime.KeepAlive(block) }
}

// generatorPercent is how much a load generator's heap may grow between collections, in percent of what lives.
const generatorPercent = 600

// collectRarely lets Go collect a load generator's heap rarely, for more memory. The generator shares the machine with what it measures, and
// what its collections delay counts as the other's delay. GOGC and GOMEMLIMIT take precedence.
func collectRarely() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(generatorPercent)
	}
}
