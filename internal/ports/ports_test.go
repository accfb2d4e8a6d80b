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

// Ports that are in use, or marked by another process, are passed over; what is released can be had again.
func TestTaken(t *testing.T) {
	got, release, err := Free(1)
	if err != nil {
		t.Fatal(err)
	}
	at := &net.UDPAddr{Port: got[0]}
	if c, err := net.ListenUDP("udp", at); err == nil {
		c.Close()
		t.Error("a port that is given away isn't marked")
	}
	release()
	c, err := net.ListenUDP("udp", at)
	if err != nil {
		t.Fatalf("a released port: %v", err)
	}
	c.Close()
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
