//go:build !linux

package javafs

import "os"

func newFolder() (string, error) { return os.MkdirTemp("", folderPrefix) }
