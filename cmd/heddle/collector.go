package main

import (
	"os"
	"runtime"
)

// ballastSize is in bytes; see ballast.
const ballastSize = 80 << 20

// ballast makes Go collect a small heap rarely, and changes little for a large one, until release is called.
//
// A ResourceManager of a thousand nodes has some twenty megabytes of live objects, and allocates a hundred and fifty a second
// under load. Go's rule is a collection whenever the heap has doubled. That would be several collections a second, each with a
// quarter of the processors, which slows requests down. A block that is never touched takes no memory of the
// machine, but counts as live. So the heap may grow by twice its size more before the next collection.
// GOGC and GOMEMLIMIT take precedence. Adapting the percentage to the heap would
// need no block. But it follows late on a busy machine: a heap that has just become large would still grow as a small one does.
func ballast() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	block := make([]byte, ballastSize)
	return func() { runtime.KeepAlive(block) }
}
