//go:build !linux

package command

import "os"

// isTerminal returns false on systems whose terminals aren't supported: the output is plain.
func isTerminal(*os.File) bool { return false }

func terminalSize(*os.File) (rows, columns int) { return 24, 80 }

func readKeys(*os.File) (keys <-chan byte, restore func()) { return nil, func() {} }
