package core

import (
	"testing"
	"unsafe"
)

// What each decision touches of an application is on the first line of the cache, which only holds if applications are of whole lines.
func TestApplicationsAreOfWholeLines(t *testing.T) {
	const line = 64
	var a App
	if n := unsafe.Sizeof(a); n%line != 0 {
		t.Errorf("an application has %d bytes, which are no whole lines of %d", n, line)
	}
	if end := unsafe.Offsetof(a.Used) + 2*unsafe.Sizeof(a.Used[0]); end > line {
		t.Errorf("memory and vcores that an application uses end at byte %d, behind the first line", end)
	}
}
