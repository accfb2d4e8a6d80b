// Package sockets reads which TCP sockets of this machine there are at a port.
package sockets

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// State is that of a socket, as the kernel's tables have it.
type State string

// The states that are asked for.
const (
	Established State = "01"
	Listening   State = "0A"
)

// Socket is one at the port that was asked for.
type Socket struct {
	Remote netip.Addr // the zero value if it can't be read
	User   int        // its owner; −1 if the table doesn't say
}

// At returns the sockets at a local port in a state, by /proc/net/tcp and tcp6 below root.
func At(root string, port int, state State) (all []Socket, err error) {
	for _, file := range []string{"tcp", "tcp6"} {
		f, err := os.Open(root + "/proc/net/" + file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, err := Parse(f, port, state)
		_ = f.Close() // only read from
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// Parse reads a table of the kernel.
func Parse(r io.Reader, port int, state State) ([]Socket, error) {
	const local, remote, status, owner = 1, 2, 3, 7
	var all []Socket
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		w := strings.Fields(lines.Text())
		if len(w) <= status || State(w[status]) != state {
			continue
		}
		_, at, _ := strings.Cut(w[local], ":")
		if n, err := strconv.ParseUint(at, 16, 16); err != nil || int(n) != port {
			continue
		}
		s := Socket{Remote: address(w[remote]), User: -1}
		if len(w) > owner {
			user, err := strconv.ParseUint(w[owner], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("the owner of a socket is %q: %w", w[owner], err)
			}
			s.User = int(user)
		}
		all = append(all, s)
	}
	return all, lines.Err()
}

// address reads an address and a port.
func address(text string) netip.Addr {
	text, _, _ = strings.Cut(text, ":")
	raw, err := hex.DecodeString(text)
	if err != nil {
		return netip.Addr{}
	}
	for i := 0; i+4 <= len(raw); i += 4 { // each word is in this machine's order
		raw[i], raw[i+1], raw[i+2], raw[i+3] = raw[i+3], raw[i+2], raw[i+1], raw[i]
	}
	a, _ := netip.AddrFromSlice(raw)
	return a.Unmap()
}
