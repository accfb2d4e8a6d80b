package suspended

import (
	bytesof "encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ringParams are what io_uring_setup takes and fills in.
type ringParams struct {
	entries, completions, flags, threadCPU, threadIdle, features, wq uint32
	_                                                                [3]uint32
	sq                                                               struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, cqes, flags, _ uint32
		_                                                   uint64
	}
}

// submission reads n bytes of a file.
type submission struct {
	op, flags uint8
	_         uint16
	fd        int32
	offset    uint64
	at        uint64
	n         uint32
	_         uint32
	user      uint64
	_         [3]uint64
}

type completion struct {
	user   uint64
	result int32
	_      uint32
}

const (
	ringReads      = 32
	ringSubmitter  = 1 << 1 // a thread of the kernel's takes what is submitted
	ringWakes      = 1 << 1
	ringMappings   = 0x10000000 // the offset of the submissions; the rings are at 0
	ringOneMapping = 1 << 0
	opRead         = 22
	readByWorker   = 1 << 4 // one of the kernel's threads reads
)

func setUpRing(p *ringParams) (fd int, err error) {
	r, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, ringReads, uintptr(unsafe.Pointer(p)), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// needsRings skips a test where the kernel has no rings for this process.
func needsRings(t *testing.T) {
	fd, err := setUpRing(&ringParams{flags: ringSubmitter})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skipf("io_uring_setup: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(fd)
}

// ring reads from a pipe with an io_uring. Its reads wait until somebody asks; then each has what was written, once.
func ring(string) (func() error, error) {
	p := ringParams{flags: ringSubmitter}
	fd, err := setUpRing(&p)
	if err != nil {
		return nil, err
	}
	if p.features&ringOneMapping == 0 {
		return nil, errors.New("an old kernel's io_uring")
	}
	const access, how = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	rings, err := unix.Mmap(fd, 0, int(max(p.sq.array+4*p.entries, p.cq.cqes+16*p.completions)), access, how)
	if err != nil {
		return nil, err
	}
	entries, err := unix.Mmap(fd, ringMappings, int(p.entries)*64, access, how)
	if err != nil {
		return nil, err
	}
	buffers, err := unix.Mmap(-1, 0, ringReads*8, access, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in := int32(r.Fd()) // it blocks
	word := func(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&rings[at])) }
	submit := func() error {
		tail := atomic.LoadUint32(word(p.sq.tail))
		for i := range uint32(ringReads) {
			at := (tail + i) & (p.entries - 1)
			s := submission{op: opRead, fd: in, offset: 1<<64 - 1, at: uint64(uintptr(unsafe.Pointer(&buffers[i*8]))), n: 8, user: uint64(i)}
			if i%2 == 0 {
				s.flags = readByWorker
			}
			*(*submission)(unsafe.Pointer(&entries[at*64])) = s
			*word(p.sq.array + 4*at) = at
		}
		atomic.StoreUint32(word(p.sq.tail), tail+ringReads)
		if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(fd), 0, 0, ringWakes, 0, 0); errno != 0 {
			return errno
		}
		for atomic.LoadUint32(word(p.sq.head)) != tail+ringReads {
			runtime.Gosched()
		}
		return nil
	}
	written := uint64(0)
	return func() error {
		defer runtime.KeepAlive(r)
		head := atomic.LoadUint32(word(p.cq.head))
		if tail := atomic.LoadUint32(word(p.cq.tail)); tail != head {
			c := *(*completion)(unsafe.Pointer(&rings[p.cq.cqes+16*(head&(p.completions-1))]))
			return fmt.Errorf("%d of its reads ended before anything was written, the first with %d", tail-head, c.result)
		}
		want := map[uint64]bool{}
		for range ringReads {
			written++
			want[written] = true
			if _, err := w.Write(bytesof.NativeEndian.AppendUint64(nil, written)); err != nil {
				return err
			}
		}
		for i := range uint32(ringReads) {
			for atomic.LoadUint32(word(p.cq.tail)) == head+i {
				runtime.Gosched()
			}
			c := *(*completion)(unsafe.Pointer(&rings[p.cq.cqes+16*((head+i)&(p.completions-1))]))
			if c.result != 8 {
				return fmt.Errorf("a read ended with %d", c.result)
			}
			got := bytesof.NativeEndian.Uint64(buffers[c.user*8:])
			if !want[got] {
				return fmt.Errorf("a read has %d, which was not written or read before", got)
			}
			delete(want, got)
		}
		atomic.StoreUint32(word(p.cq.head), head+ringReads)
		return submit()
	}, submit()
}
