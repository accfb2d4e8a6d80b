//go:build !linux

package javafs

import "os"

func NewFolder() (string, error) { return os.MkdirTemp("", folderPrefix) }
