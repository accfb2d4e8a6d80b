package sockets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// States of TCP in which a connection still carries data of the container's.
const states = 1<<unix.BPF_TCP_ESTABLISHED | 1<<unix.BPF_TCP_CLOSE_WAIT

// Find returns the connections that the processes have with others. A process that has ended has none.
func Find(pids []int) ([]Connection, error) {
	inodes := make(map[uint32]bool)
	for _, pid := range pids {
		socketsOf(pid, inodes)
	}
	if len(inodes) == 0 {
		return nil, nil
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	defer d.close()
	var all []Connection
	for _, family := range []byte{inet4, inet6} {
		// The machine may have millions, of which the processes have few.
		keep := func(c Connection) {
			if inodes[c.inode] {
				all = append(all, c)
			}
		}
		if err := d.ask(request(family, nil), unix.NLM_F_DUMP, keep); err != nil {
			return nil, err
		}
	}
	return external(all, inodes), nil
}

// Look returns how connections are now that Find has returned. One that is closed is missing.
func Look(at []Connection) (now []Connection, err error) {
	if len(at) == 0 {
		return nil, nil
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	defer d.close()
	for i := range at {
		family := byte(inet4)
		if at[i].v6 {
			family = inet6
		}
		err := d.ask(request(family, &at[i]), 0, func(c Connection) { now = append(now, c) })
		if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESTALE) {
			return nil, err
		}
	}
	return now, nil
}

// maxSockets bounds how many sockets of a container are looked at. Each takes some dozen bytes.
const maxSockets = 1 << 17

// socketsOf adds the inodes of a process's sockets to a set, up to maxSockets.
func socketsOf(pid int, to map[uint32]bool) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	for len(to) < maxSockets {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			link, err := os.Readlink(filepath.Join(dir, name))
			if err != nil {
				continue
			}
			if text, ok := strings.CutPrefix(link, "socket:["); ok {
				if n, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 32); err == nil {
					to[uint32(n)] = true
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// request asks for all connections of a family, or for one.
func request(family byte, c *Connection) []byte {
	b := make([]byte, requestSize)
	b[0], b[1], b[2] = family, unix.IPPROTO_TCP, 1<<(attributeInfo-1)
	endian.PutUint32(b[4:], states)
	if c != nil {
		copy(b[8:], c.raw[:])
	}
	return b
}

// diag is a socket by which the kernel is asked.
type diag struct {
	fd  int
	buf []byte
}

func open() (*diag, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return &diag{fd, make([]byte, 1<<16)}, nil
}

func (d *diag) close() { _ = unix.Close(d.fd) }

// ask sends a request and hands over the connections of the answer.
func (d *diag) ask(req []byte, flags uint16, each func(Connection)) error {
	b := make([]byte, headerSize, headerSize+len(req))
	endian.PutUint32(b, uint32(headerSize+len(req)))
	endian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	endian.PutUint16(b[6:], unix.NLM_F_REQUEST|flags)
	if err := unix.Sendto(d.fd, append(b, req...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	for {
		n, _, err := unix.Recvfrom(d.fd, d.buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
		if done, err := messages(d.buf[:n], each); done || err != nil {
			return err
		}
		if flags&unix.NLM_F_DUMP == 0 {
			return nil
		}
	}
}
