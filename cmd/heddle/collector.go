package main

import (
	"os"
	"runtime"
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

// collectorThreads is the smallest number of threads of which Go's collector takes whole ones; see roomForCollector.
const collectorThreads = 4

// roomForCollector lets Go run four threads at a time on a machine of fewer processors.
//
// Go's collector takes a quarter of the threads. Of four it takes one, and leaves the others alone. Of two or three it takes a part of
// each: all of them mark for ten or twenty milliseconds at once, again and again, and no request is answered meanwhile. With
// 10,000 nodes that makes tens of milliseconds of a request's time. With four threads the kernel divides the processors, every few
// milliseconds. GOMAXPROCS takes precedence, and so does a limit of the process below the machine's processors.
func roomForCollector() {
	if n := threads(runtime.NumCPU(), runtime.GOMAXPROCS(0), os.Getenv("GOMAXPROCS")); n > 0 {
		runtime.GOMAXPROCS(n)
	}
}

// threads returns how many threads Go should run at a time on a machine with so many processors, where it would run so many by
// itself and the environment sets a number. 0 leaves it as it is.
func threads(processors, byItself int, environment string) int {
	if environment != "" || byItself < processors || processors >= collectorThreads {
		return 0
	}
	return collectorThreads
}
