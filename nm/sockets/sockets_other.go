//go:build !linux

package sockets

// Find fails: only Linux tells.
func Find([]int) ([]Connection, error) { return nil, ErrUnknown }

// Look fails: only Linux tells.
func Look([]Connection) ([]Connection, error) { return nil, ErrUnknown }
