package ports

import (
	"net"
	"testing"
)

func TestFree(t *testing.T) {
	seen := map[int]bool{}
	for range 20 {
		got, release, err := Free(50)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for _, p := range got {
			if p < first || p > last || seen[p] {
				t.Fatalf("%d is out of range or given twice", p)
			}
			seen[p] = true
		}
	}
}

// Ports that are marked, by whatever process, are passed over; what is released can be had again.
func TestTaken(t *testing.T) {
	for range 20 {
		got, release, err := Free(1)
		if err != nil {
			t.Fatal(err)
		}
		at := &net.UDPAddr{Port: got[0]}
		if c, err := net.ListenUDP("udp", at); err == nil {
			c.Close()
			t.Fatal("a port that is given away isn't marked")
		}
		release()
		if c, err := net.ListenUDP("udp", at); err == nil {
			c.Close()
			return
		} // else another process may have got it at this very moment
	}
	t.Error("released ports can't be had")
}

func TestLoopback(t *testing.T) {
	for _, a := range Loopback(t, 3) {
		l, err := net.Listen("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}
