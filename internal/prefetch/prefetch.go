//go:build amd64 || arm64

package prefetch

import "unsafe"

// line is how many bytes of memory come at a time.
const line = 64

// Of fetches all of what p points to. Any address will do: one that isn't in memory is left out.
func Of[T any](p *T) { First(p, unsafe.Sizeof(*p)) }

// First fetches the first bytes of what p points to.
func First[T any](p *T, bytes uintptr) {
	if bytes > 0 {
		from := uintptr(unsafe.Pointer(p)) % line
		lines(unsafe.Pointer(p), (from+bytes+line-1)/line)
	}
}

// lines fetches n lines, of which p points into the first one. n is above 0.
//
//go:noescape
func lines(p unsafe.Pointer, n uintptr)
