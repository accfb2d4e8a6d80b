package prefetch_test

import (
	"testing"
	"unsafe"

	"heddle/internal/prefetch"
)

// What is fetched may be of any size and at any address, also one that isn't in memory, and stays as it is.
func TestAnyAddressWillDo(t *testing.T) {
	prefetch.Of((*[1 << 16]byte)(nil))
	prefetch.Of(&struct{}{})
	var all [4096]byte
	for i := range all {
		all[i] = byte(i)
	}
	for i := range all {
		prefetch.Of(&all[i])
	}
	prefetch.Of(&all)
	prefetch.Of((*[1 << 20]byte)(unsafe.Pointer(&all)))
	for i := range all {
		if all[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, all[i])
		}
	}
}
