package sockets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
)

// Connection is a TCP connection of a container with another.
type Connection struct {
	ID       uint64         // of the socket, as long as the machine runs
	Local    netip.AddrPort // of the container
	Remote   netip.AddrPort
	Sent     uint64        // bytes that the container has sent so far, also those that are still on their way
	Received uint64        // bytes that have come so far
	Unread   uint32        // bytes of them that it hasn't read
	Idle     time.Duration // since it last sent something
	inode    uint32
	v6       bool
	raw      [idSize]byte // by which the kernel knows it
}

// ErrUnknown says that the kernel doesn't tell of connections.
var ErrUnknown = errors.New("the kernel doesn't tell what connections have sent")

// The kernel's structures: inet_diag_req_v2, inet_diag_msg, and of tcp_info what is needed. Numbers are in the machine's byte order, but for ports
// and addresses.
const (
	headerSize  = 16 // nlmsghdr
	requestSize = 56 // inet_diag_req_v2
	messageSize = 72 // inet_diag_msg
	idSize      = 48 // inet_diag_sockid, which begins 4 bytes into a message and 8 bytes into a request

	attributeInfo = 2 // INET_DIAG_INFO

	infoIdle     = 44  // tcpi_last_data_sent, ms
	infoReceived = 128 // tcpi_bytes_received
	infoNotSent  = 144 // tcpi_notsent_bytes
	infoSent     = 200 // tcpi_bytes_sent, with what was sent again; since Linux 4.19
	infoAgain    = 208 // tcpi_bytes_retrans
	infoSize     = 216

	inet4, inet6 = 2, 10
)

var endian = binary.NativeEndian

// parse reads one message about a connection. ok is false for a message of another kind, or one that lacks what is needed.
func parse(b []byte) (c Connection, ok bool) {
	if len(b) < messageSize {
		return c, false
	}
	family := b[0]
	id := b[4 : 4+idSize]
	c.raw, c.v6 = [idSize]byte(id), family == inet6
	address := func(b []byte) netip.Addr {
		if family == inet4 {
			return netip.AddrFrom4([4]byte(b))
		}
		return netip.AddrFrom16([16]byte(b)).Unmap()
	}
	if family != inet4 && family != inet6 {
		return c, false
	}
	c.Local = netip.AddrPortFrom(address(id[4:20]), binary.BigEndian.Uint16(id))
	c.Remote = netip.AddrPortFrom(address(id[20:36]), binary.BigEndian.Uint16(id[2:]))
	c.ID = uint64(endian.Uint32(id[40:])) | uint64(endian.Uint32(id[44:]))<<32
	c.Unread, c.inode = endian.Uint32(b[56:]), endian.Uint32(b[68:])
	for a := b[messageSize:]; len(a) >= 4; {
		n, kind := int(endian.Uint16(a)), endian.Uint16(a[2:])
		if n < 4 || n > len(a) {
			return c, false
		}
		if info := a[4:n]; kind == attributeInfo && len(info) >= infoSize {
			c.Idle = time.Duration(endian.Uint32(info[infoIdle:])) * time.Millisecond
			c.Received = endian.Uint64(info[infoReceived:])
			c.Sent = endian.Uint64(info[infoSent:]) - endian.Uint64(info[infoAgain:]) + uint64(endian.Uint32(info[infoNotSent:]))
			return c, true
		}
		a = a[min((n+3)&^3, len(a)):]
	}
	return c, false
}

// Kinds of messages of netlink.
const (
	kindError      = 2
	kindDone       = 3
	kindConnection = 20
)

// messages reads what the kernel has answered, and reports whether that was the end of a list.
func messages(b []byte, each func(Connection)) (done bool, err error) {
	for len(b) >= headerSize {
		n := int(endian.Uint32(b))
		if n < headerSize || n > len(b) {
			return true, fmt.Errorf("%w: a message of %d bytes in %d", ErrUnknown, n, len(b))
		}
		body := b[headerSize:n]
		switch endian.Uint16(b[4:]) {
		case kindDone:
			return true, nil
		case kindError:
			if len(body) < 4 {
				return true, fmt.Errorf("%w: an error of %d bytes", ErrUnknown, len(body))
			}
			if code := int32(endian.Uint32(body)); code != 0 {
				return true, fmt.Errorf("%w: %w", ErrUnknown, syscall.Errno(-code))
			}
		case kindConnection:
			if c, ok := parse(body); ok {
				each(c)
			}
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return false, nil
}

// external leaves those connections of a list that a container has with others. inodes are those of its sockets.
func external(all []Connection, inodes map[uint32]bool) (out []Connection) {
	type pair struct{ local, remote netip.AddrPort }
	own := make(map[pair]bool)
	for i := range all {
		if c := &all[i]; inodes[c.inode] {
			own[pair{c.Local, c.Remote}] = true
		}
	}
	for i := range all {
		if c := &all[i]; inodes[c.inode] && !own[pair{c.Remote, c.Local}] {
			out = append(out, *c)
		}
	}
	return out
}
