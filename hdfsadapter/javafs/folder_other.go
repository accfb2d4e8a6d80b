//go:build !linux

package javafs

import "os"

// NewFolder makes a temporary folder for the jar of a process's JVMs.
func NewFolder() (string, error) { return os.MkdirTemp("", folderPrefix) }
