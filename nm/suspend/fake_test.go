package suspend

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"heddle/nm/cgroup"
	"heddle/nm/sockets"
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
	let       []int64              // MB that it holds, whenever that becomes less
	before    func(did string)     // called before anything is done
	cpu       func() time.Duration // beyond what it has used before
	used      time.Duration
	thawed    time.Time
	pagesBack func(since time.Duration) int64 // bytes that are read back while it runs
	working   func() bool                     // nil: never
	talks     []*peer                         // nil: the kernel doesn't tell of connections
	denies    error                           // the next Hold
}

// peer is a connection on which a container says something at a time after each thaw, and hears something a while after that.
type peer struct {
	says, hears time.Duration // after a thaw; negative: never
	thawed      time.Time     // when it last counted what it has said
	sent, heard uint64
	saidAt      time.Time
	unread      uint32
	closes      bool          // when it is thawed
	reads       time.Duration // after a thaw it reads what has come; 0: never
}

func newFake() *fake {
	size := records.NewResource(1024, 2)
	return &fake{size: size, held: size, anon: 600 << 20, used: beginning}
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

func (f *fake) Holds(now records.Resource) { f.let = append(f.let, now.MemoryMB()) }

func (f *fake) Hold(ctx context.Context, held records.Resource, page bool) error {
	word := ""
	if page {
		word = " page"
	}
	err := f.do(ctx, "hold %d/%d%s", held.MemoryMB(), held.VCores(), word)
	if f.denies != nil {
		err, f.denies = f.denies, nil
	}
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

func (f *fake) Frozen() (bool, error) { return f.frozen, nil }

func (f *fake) Reclaim(ctx context.Context, bytes int64) error {
	if err := f.do(ctx, "reclaim %d", bytes>>20); err != nil {
		return err
	}
	taken := min(bytes, f.anon-f.stuck)
	f.anon, f.swapped = f.anon-taken, f.swapped+taken
	if taken < bytes {
		return syscall.EBUSY
	}
	return nil
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
		return f.used, nil
	}
	return f.used + f.cpu(), nil
}

// talk has the connections do what is due by now.
func (f *fake) talk() {
	for _, p := range f.talks {
		if f.frozen || f.thawed.IsZero() {
			continue
		}
		since := time.Since(f.thawed)
		if p.says >= 0 && since >= p.says && p.saidAt.Before(f.thawed) {
			p.sent, p.saidAt = p.sent+10, time.Now()
		}
		if p.reads > 0 && since >= p.reads {
			p.unread = 0
		}
		if p.hears >= 0 && since >= p.hears && !p.thawed.Equal(f.thawed) {
			p.heard, p.thawed = p.heard+10, f.thawed
		}
	}
}

func (f *fake) connections(of func(id uint64) bool) (out []sockets.Connection) {
	f.talk()
	for i, p := range f.talks {
		if id := uint64(i + 1); of(id) && !(p.closes && !f.thawed.IsZero()) {
			out = append(out, sockets.Connection{ID: id, Sent: p.sent, Received: p.heard, Unread: p.unread, Idle: time.Since(p.saidAt)})
		}
	}
	return out
}

func (f *fake) Working() bool { return f.working != nil && f.working() }

func (f *fake) Connections() ([]sockets.Connection, error) {
	if f.talks == nil {
		return nil, sockets.ErrUnknown
	}
	return f.connections(func(uint64) bool { return true }), nil
}

func (f *fake) Look(at []sockets.Connection) ([]sockets.Connection, error) {
	return f.connections(func(id uint64) bool {
		return slices.ContainsFunc(at, func(c sockets.Connection) bool { return c.ID == id })
	}), nil
}
