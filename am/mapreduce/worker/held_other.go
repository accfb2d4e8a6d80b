//go:build !linux

package worker

import "os"

// ended is never closed: processes can't be told apart here.
func ended(int) <-chan struct{} { return nil }

func failed(int) bool { return false }

func holders(...*os.File) []holder { return nil }
