package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether a file is a terminal.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// terminalSize returns the lines and columns of a terminal, or 24 and 80 if it doesn't report them.
func terminalSize(f *os.File) (rows, columns int) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Row == 0 || size.Col == 0 {
		return 24, 80
	}
	return int(size.Row), int(size.Col)
}

// readKeys delivers keys one by one without showing them. restore undoes that. Without a terminal no key arrives.
func readKeys(f *os.File) (keys <-chan byte, restore func()) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, func() {}
	}
	raw := *before
	raw.Lflag &^= unix.ICANON | unix.ECHO
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &raw); err != nil {
		return nil, func() {}
	}
	out := make(chan byte)
	go func() { // ends with the process: a read of a terminal can't be interrupted
		buf := make([]byte, 1)
		for {
			if n, err := f.Read(buf); n == 0 || err != nil {
				return
			}
			out <- buf[0]
		}
	}()
	// Nothing is left to do if the terminal is gone.
	return out, func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }
}
