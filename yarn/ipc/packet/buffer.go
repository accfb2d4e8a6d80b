package packet

import (
	"math/bits"
	"sync"
)

// A Buffer is a reusable byte slice. Its owner calls Free at most once, and must not touch the bytes afterwards.
type Buffer struct {
	B []byte
}

// Capacities of buffers are powers of two. The garbage collector takes buffers above the largest one.
const (
	minBufferBits = 9  // 512 bytes
	maxBufferBits = 18 // 256 KiB
)

var bufferPools [maxBufferBits - minBufferBits + 1]sync.Pool

// NewBuffer returns an empty buffer with room for at least n bytes.
func NewBuffer(n int) *Buffer {
	class := max(bits.Len(uint(max(n, 1)-1)), minBufferBits) - minBufferBits
	if class >= len(bufferPools) {
		return &Buffer{make([]byte, 0, n)}
	}
	if b, ok := bufferPools[class].Get().(*Buffer); ok {
		return b
	}
	return &Buffer{make([]byte, 0, 1<<(class+minBufferBits))}
}

// Free gives the buffer back. A buffer that has grown goes to the class that its capacity fills.
func (b *Buffer) Free() {
	class := bits.Len(uint(cap(b.B))) - 1 - minBufferBits
	if class < 0 || class >= len(bufferPools) {
		return
	}
	b.B = b.B[:0]
	bufferPools[class].Put(b)
}
