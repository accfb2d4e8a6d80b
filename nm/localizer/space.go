package localizer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Space is the free space of a file system.
type Space struct {
	Total  uint64 // bytes; 0: unknown
	Free   uint64 // free bytes for the NodeManager
	Inodes uint64 // free inodes; 0 if the file system doesn't count them
	Counts bool   // Inodes is meaningful
}

// leaves returns how many bytes downloads leave free: a tenth of a small disk, which is where the node's health check counts it as full by default. If it were
// more, nothing could be localized on a node that says that it is well.
func (s Space) leaves(reserve uint64) uint64 {
	if s.Total == 0 {
		return reserve
	}
	return min(reserve, s.Total/10)
}

// meter counts the bytes that a download writes against the free space of its disk. So neither a resource that is
// larger than announced nor an archive that unpacks to a multiple of its size fills the disk: the download fails while
// there is still room for running containers.
type meter struct {
	ctx     context.Context
	dir     string // local directory
	reserve uint64 // bytes to leave free
	space   func(dir string) (Space, error)

	step      int64 // bytes between two checks of the disk; 0: checkBytes
	unchecked int64 // bytes written since the last check
	files     int   // files created since then
}

// So many bytes or files may be written between two checks of the disk.
const (
	checkBytes = 8 << 20
	checkFiles = 256
)

// check checks the disk's free space.
func (m *meter) check() error {
	m.unchecked, m.files = 0, 0
	if err := m.ctx.Err(); err != nil {
		return context.Cause(m.ctx)
	}
	s, err := m.space(m.dir)
	if err != nil {
		return fmt.Errorf("free space of %s: %w", m.dir, err)
	}
	reserve := s.leaves(m.reserve)
	if s.Free < reserve {
		return &DiskFullError{Dir: m.dir, Free: s.Free, Reserved: reserve}
	}
	if s.Counts && s.Inodes < checkFiles {
		return &DiskFullError{Dir: m.dir, Free: s.Free, Reserved: reserve, Inodes: true}
	}
	return nil
}

// created counts a new file or directory.
func (m *meter) created() error {
	if m.files++; m.files >= checkFiles {
		return m.check()
	}
	return nil
}

// copy writes src to dst until its end and returns the number of bytes.
func (m *meter) copy(dst *os.File, src io.Reader) (int64, error) {
	var total int64
	step := m.step
	if step == 0 {
		step = checkBytes
	}
	for {
		n, err := io.CopyN(dst, src, step)
		total += n
		m.unchecked += n
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			if cause := context.Cause(m.ctx); cause != nil {
				err = cause // cancelling a download closes its source
			}
			return total, m.full(err)
		}
		if m.unchecked >= step {
			if err := m.check(); err != nil {
				return total, err
			}
		}
	}
}

// full adds the disk's name to an error that says that the disk is full.
func (m *meter) full(err error) error {
	var already *DiskFullError
	if errors.As(err, &already) || !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	s, _ := m.space(m.dir)
	return &DiskFullError{Dir: m.dir, Free: s.Free, Reserved: s.leaves(m.reserve), Inodes: s.Counts && s.Inodes == 0}
}

// chooseDir picks a local directory among dirs for a resource of size bytes (−1 if unknown). It picks at random among
// those that have room, with probabilities in proportion to their free space (LocalDirAllocator). random returns a
// number in [0, n).
func chooseDir(dirs []string, size int64, reserve uint64, space func(string) (Space, error), random func(n uint64) uint64) (string, error) {
	if len(dirs) == 0 {
		return "", ErrNoDirectory
	}
	var (
		best  uint64
		total uint64
		fit   = make([]string, 0, len(dirs))
		free  = make([]uint64, 0, len(dirs))
		last  error
		full  *DiskFullError
	)
	for _, d := range dirs {
		s, err := space(d)
		if err != nil {
			last = fmt.Errorf("free space of %s: %w", d, err)
			continue
		}
		best = max(best, s.Free)
		leaves := s.leaves(reserve)
		if s.Free < leaves || size > 0 && s.Free-leaves < uint64(size) {
			full = &DiskFullError{Dir: d, Free: s.Free, Reserved: leaves}
			continue
		}
		fit, free, total = append(fit, d), append(free, s.Free), total+s.Free
	}
	switch {
	case len(fit) > 0:
	case full != nil && size > 0:
		return "", fmt.Errorf("no local directory has room for %d bytes, the largest has %d: %w", size, best, full)
	case full != nil:
		return "", full
	default:
		return "", last
	}
	if total == 0 {
		return fit[0], nil
	}
	pos := random(total)
	for i, f := range free {
		if pos < f {
			return fit[i], nil
		}
		pos -= f
	}
	return fit[len(fit)-1], nil
}
