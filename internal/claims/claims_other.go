//go:build !linux

package claims

import "errors"

// Ask calls f.
func Ask[T any](_ int, f func() (T, error)) (T, error) { return f() }

// UID is not supported here.
func UID(int) (int, error) { return 0, errors.ErrUnsupported }

// CommandLine is not supported here.
func CommandLine(int, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

// Environ is not supported here.
func Environ(int, string) (Variable, error) { return Variable{}, errors.ErrUnsupported }
