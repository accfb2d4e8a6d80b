//go:build !amd64 && !arm64

package prefetch

// Of does nothing: there is no instruction for it here that this package knows.
func Of[T any](*T) {}

// First does nothing.
func First[T any](*T, uintptr) {}
