//go:build !linux

package proc

// Running reports that no thread runs: only Linux tells.
func Running([]int) bool { return false }

// Working reports that no thread works: only Linux tells.
func Working([]int) bool { return false }
