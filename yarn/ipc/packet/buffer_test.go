package packet

import "testing"

func TestBuffersAreUsedAgain(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 100_000, 1 << 18, 1<<18 + 1, 1 << 20} {
		b := NewBuffer(n)
		if cap(b.B) < n || len(b.B) != 0 {
			t.Errorf("buffer for %d bytes has %d of %d", n, len(b.B), cap(b.B))
		}
		b.B = append(b.B, make([]byte, 3*n)...) // it may grow
		b.Free()
	}
	for range 1000 {
		if b := NewBuffer(1000); cap(b.B) < 1000 || len(b.B) != 0 {
			t.Fatalf("buffer has %d of %d", len(b.B), cap(b.B))
		}
	}
}
