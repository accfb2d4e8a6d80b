package sockets

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"
	"time"
)

// message is one of the kernel's about a connection, as it comes of inet_diag.
func message(kind uint16, body []byte) []byte {
	b := make([]byte, headerSize, headerSize+len(body))
	endian.PutUint32(b, uint32(headerSize+len(body)))
	endian.PutUint16(b[4:], kind)
	return append(b, body...)
}

func connectionBody(local, remote netip.AddrPort, inode uint32) []byte {
	b := make([]byte, messageSize)
	b[0] = inet6
	binary.BigEndian.PutUint16(b[4:], local.Port())
	binary.BigEndian.PutUint16(b[6:], remote.Port())
	from, to := local.Addr().As16(), remote.Addr().As16()
	copy(b[8:], from[:])
	copy(b[24:], to[:])
	endian.PutUint32(b[44:], inode+1000)
	endian.PutUint32(b[56:], 3)
	endian.PutUint32(b[68:], inode)
	info := make([]byte, infoSize)
	endian.PutUint32(info[infoIdle:], 1500)
	endian.PutUint64(info[infoReceived:], 70)
	endian.PutUint32(info[infoNotSent:], 5)
	endian.PutUint64(info[infoSent:], 100)
	endian.PutUint64(info[infoAgain:], 20)
	other := []byte{6, 0, 8, 0, 1, 2, 0, 0} // an attribute that nobody needs
	b = append(b, other...)
	attribute := make([]byte, 4)
	endian.PutUint16(attribute, uint16(4+len(info)))
	endian.PutUint16(attribute[2:], attributeInfo)
	return append(append(b, attribute...), info...)
}

// What the kernel says of a connection, and which of several are with others: Java's addresses are of IPv6, Python's of IPv4.
func TestConnectionsWithOthers(t *testing.T) {
	at := netip.MustParseAddrPort
	java, python, driver := at("[::ffff:127.0.0.1]:4001"), at("127.0.0.1:4002"), at("10.0.0.9:7077")
	var list []byte
	for i, c := range [][2]netip.AddrPort{{java, driver}, {java, python}, {python, java}, {at("10.0.0.5:9000"), driver}} {
		list = append(list, message(kindConnection, connectionBody(c[0], c[1], uint32(i+1)))...)
	}
	var all []Connection
	done, err := messages(append(list, message(kindDone, nil)...), func(c Connection) { all = append(all, c) })
	if !done || err != nil || len(all) != 4 {
		t.Fatalf("done %v, %v: %+v", done, err, all)
	}
	got := external(all, map[uint32]bool{1: true, 2: true, 3: true})
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	c := got[0]
	if c.ID != 1001 || c.Local != at("127.0.0.1:4001") || c.Remote != driver || c.Sent != 85 || c.Received != 70 || c.Unread != 3 || c.Idle != 1500*time.Millisecond {
		t.Errorf("%+v", c)
	}
}

func TestErrorsOfTheKernel(t *testing.T) {
	refused := make([]byte, 20)
	refusal := int32(-2)
	endian.PutUint32(refused, uint32(refusal))
	for name, b := range map[string][]byte{"there is none": message(kindError, refused), "short": message(kindError, []byte{1}), "longer than it is": {200, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} {
		if done, err := messages(b, func(Connection) {}); !done || err == nil {
			t.Errorf("%s: done %v, %v", name, done, err)
		}
	}
}

// FuzzMessages: whatever comes is read or refused, and each connection has all that it needs.
func FuzzMessages(f *testing.F) {
	a := netip.MustParseAddrPort("127.0.0.1:1")
	f.Add(message(kindConnection, connectionBody(a, a, 7)))
	f.Add(message(kindDone, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)
		n := 0
		_, _ = messages(b, func(c Connection) {
			if n++; !c.Local.IsValid() || !c.Remote.IsValid() {
				t.Errorf("%+v", c)
			}
		})
		if n > len(b)/(headerSize+messageSize) || !slices.Equal(b, before) {
			t.Errorf("%d connections in %d bytes", n, len(b))
		}
	})
}
