package main

import (
	"os"
	"runtime"
)

// ballastSize is in bytes; see ballast.
const ballastSize = 80 << 20

// ballast makes a small heap be collected seldom, and leaves a large one nearly as it is, until release is called.
//
// A ResourceManager of a thousand nodes has some twenty megabytes of live objects and allocates a hundred and fifty a second
// under load. By Go's rule, a collection whenever the heap has doubled, it would collect several times a second, with a
// quarter of the processors each time, which requests feel. A block that is never touched, and so takes no memory of the
// machine, counts as live: the heap grows by its size more before the next collection, and twice that at most stays unused.
// Whoever sets GOGC or GOMEMLIMIT knows better and gets what they say. Changing the percentage as the heap changes would
// need no block, but follows late on a busy machine, when a heap that has just become large may grow by a small one's.
func ballast() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	block := make([]byte, ballastSize)
	return func() { runtime.KeepAlive(block) }
}
