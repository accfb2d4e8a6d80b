//go:build !linux

package jvm

const cloexec = 0

// awaitEnd does nothing: the caller's own wait does.
func awaitEnd(int) {}
