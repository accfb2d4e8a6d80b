package ipc

import (
	"math/bits"
	"sync"
)

// A buffer is a reusable byte slice. Its owner calls free at most once, and must not touch the bytes afterwards.
type buffer struct {
	b []byte
}

// Capacities of buffers are powers of two. The garbage collector takes buffers above the largest one.
const (
	minBufferBits = 9  // 512 bytes
	maxBufferBits = 18 // 256 KiB
)

var bufferPools [maxBufferBits - minBufferBits + 1]sync.Pool

// newBuffer returns an empty buffer with room for at least n bytes.
func newBuffer(n int) *buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minBufferBits) - minBufferBits
	if class >= len(bufferPools) {
		return &buffer{make([]byte, 0, n)}
	}
	if b, ok := bufferPools[class].Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, 1<<(class+minBufferBits))}
}

// free gives the buffer back. A buffer that has grown goes to the class that its capacity fills.
func (b *buffer) free() {
	class := bits.Len(uint(cap(b.b))) - 1 - minBufferBits
	if class < 0 || class >= len(bufferPools) {
		return
	}
	b.b = b.b[:0]
	bufferPools[class].Put(b)
}
