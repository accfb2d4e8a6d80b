package suspend

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"heddle/nm/cgroup"
	"heddle/yarn/records"
)

// fake is a container whose kernel does at once what it is told, and writes it down.
type fake struct {
	mu        sync.Mutex
	size      records.Resource
	anon      int64 // bytes
	swapped   int64
	stuck     int64 // bytes that can't be paged out
	frozen    bool
	held      records.Resource
	page      bool
	did       []string
	before    func(did string) // called before anything is done
	cpu       func() time.Duration
	thawed    time.Time
	pagesBack func(since time.Duration) int64 // bytes that are read back while it runs
}

func newFake() *fake {
	size := records.NewResource(1024, 2)
	return &fake{size: size, held: size, anon: 600 << 20}
}

func (f *fake) Size() records.Resource { return f.size }

func (f *fake) do(ctx context.Context, format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if f.before != nil {
		f.before(what)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, what)
	return nil
}

func (f *fake) Hold(ctx context.Context, held records.Resource, page bool) error {
	word := ""
	if page {
		word = " page"
	}
	err := f.do(ctx, "hold %d/%d%s", held.MemoryMB(), held.VCores(), word)
	if err == nil {
		f.held, f.page = held, page
	}
	return err
}

func (f *fake) Freeze(ctx context.Context) error {
	err := f.do(ctx, "freeze")
	if err == nil {
		f.frozen = true
	}
	return err
}

func (f *fake) Thaw(ctx context.Context) error {
	err := f.do(ctx, "thaw")
	if err == nil {
		f.frozen, f.thawed = false, time.Now()
	}
	return err
}

func (f *fake) Reclaim(ctx context.Context, bytes int64) (int64, error) {
	if err := f.do(ctx, "reclaim %d", bytes>>20); err != nil {
		return 0, err
	}
	taken := min(bytes, f.anon-f.stuck)
	f.anon, f.swapped = f.anon-taken, f.swapped+taken
	if taken < bytes {
		return taken, syscall.EBUSY
	}
	return taken, nil
}

func (f *fake) PageIn(ctx context.Context) error {
	err := f.do(ctx, "page in")
	if err == nil {
		f.anon, f.swapped = f.anon+f.swapped, 0
	}
	return err
}

func (f *fake) Memory() (cgroup.Memory, error) {
	if f.pagesBack != nil && !f.frozen {
		n := min(f.swapped, f.pagesBack(time.Since(f.thawed)))
		f.anon, f.swapped = f.anon+n, f.swapped-n
	}
	return cgroup.Memory{Anon: f.anon, Swapped: f.swapped}, nil
}

func (f *fake) CPU() (time.Duration, error) {
	if f.cpu == nil {
		return 0, nil
	}
	return f.cpu(), nil
}
