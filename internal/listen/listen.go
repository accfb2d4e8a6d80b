// Package listen opens the ports of daemons.
package listen

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// TCP listens at an address that a key of the configuration has set. Its error names the key, and how to mend what people can.
func TCP(address, key string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %w: end the process that listens there, or set %[1]s to another port", key, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s: %w: this machine has no such address: set %[1]s, or the bind-host of this daemon, to one of its own", key, err)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: %w: only root may use ports below 1024: set %[1]s to another port", key, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return l, nil
}
