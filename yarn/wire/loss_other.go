//go:build !linux

package wire

import (
	"net"
	"time"
)

// deaf is never noticed on this system: a loss is noticed after Silence.
func deaf(net.Conn, time.Duration) bool { return false }

// unheard is never known on this system.
func unheard(net.Conn) (time.Duration, bool) { return 0, false }
