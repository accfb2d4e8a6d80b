package warming

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/hdfsadapter"
	"heddle/yarn/records"
)

// nameNode has files of two blocks of 10 bytes each, which are cached on a host after a call of Directives.
type nameNode struct {
	mu         sync.Mutex
	last       int64
	directives map[int64]*directive
	room       int64
	fail       error // of Cache
	refuse     error // of Blocks
}

type directive struct {
	file    string
	until   time.Time
	scanned bool
}

const testLease = 30 * time.Second

func (n *nameNode) Blocks(_ context.Context, _, file string) ([]hdfsadapter.Block, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuse != nil {
		return nil, n.refuse
	}
	out := []hdfsadapter.Block{{Offset: 0, Length: 10, CacheRoom: n.room}, {Offset: 10, Length: 10, CacheRoom: n.room}}
	for _, d := range n.directives {
		if d.file == file && d.scanned {
			out[0].Cached, out[1].Cached = []string{"a"}, []string{"b"}
		}
	}
	return out, nil
}

func (n *nameNode) Cache(_ context.Context, file string) (int64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fail != nil {
		return 0, n.fail
	}
	n.last++
	n.directives[n.last] = &directive{file: file, until: time.Now().Add(testLease)}
	return n.last, nil
}

func (n *nameNode) Keep(_ context.Context, id int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.directives[id] == nil {
		return errors.New("no such directive")
	}
	n.directives[id].until = time.Now().Add(testLease)
	return nil
}

func (n *nameNode) Uncache(_ context.Context, id int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.directives, id)
	return nil
}

func (n *nameNode) Directives(context.Context) (out []hdfsadapter.Directive, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id, d := range n.directives {
		d.scanned = true
		out = append(out, hdfsadapter.Directive{ID: id, Expired: !time.Now().Before(d.until)})
	}
	return out, nil
}

// has checks which files there are directives for.
func (n *nameNode) has(t *testing.T, what string, want ...string) {
	t.Helper()
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	var got []string
	for _, d := range n.directives {
		got = append(got, d.file)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%s: directives for %v, want %v", what, got, want)
	}
}

// reads is a job that reads files whole, as two splits each.
func reads(app int32, files ...string) *Input {
	in := &Input{App: appID(app)}
	for _, f := range files {
		in.Splits = append(in.Splits, Split{File: f, Length: 10, Hosts: []string{"a"}}, Split{File: f, Offset: 10, Length: 10, Hosts: []string{"b"}})
	}
	return in
}

// left are the files that nodes read ahead, as the ResourceManager is told.
func (w *Warmer) left(app records.ApplicationID) (files []string) {
	for _, in := range w.Inputs() {
		for _, s := range in.Splits {
			if in.App == app && s.File != "" && !slices.Contains(files, s.File) {
				files = append(files, s.File)
			}
		}
	}
	return files
}

func withCache(t *testing.T, most int64, test func(t *testing.T, w *Warmer, nn *nameNode, stop func())) {
	synctest.Test(t, func(t *testing.T) {
		nn := &nameNode{directives: map[int64]*directive{}, room: 1 << 20}
		log := logrus.New()
		log.SetOutput(io.Discard)
		w := New(Config{Window: 1, Rate: 1, Readers: 1, Log: logrus.NewEntry(log), NameNode: nn, CacheMost: most, CacheLease: testLease})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { w.Run(ctx); close(done) }()
		stop := func() { cancel(); <-done }
		defer stop()
		test(t, w, nn, stop)
	})
}

func (w *Warmer) job(t *testing.T, in *Input) {
	w.Begin(in.App, "alice")
	w.Learn(t.Context(), in)
}

// Files are cached in the order of the maps, as many as may be; nodes read the rest ahead. The ResourceManager hears where they are, and all is over with the job's maps, or the job.
func TestTheNameNodeCachesWhatJobsReadWhole(t *testing.T) {
	withCache(t, 50, func(t *testing.T, w *Warmer, nn *nameNode, _ func()) {
		in := reads(1, "/1", "/2", "/3")
		in.Splits = append(in.Splits, Split{File: "/part", Length: 10}) // the first one whose file isn't read whole
		in.Splits[0], in.Splits[6] = in.Splits[6], in.Splits[0]
		in.Splits = append(in.Splits[:1:1], append([]Split{in.Splits[6]}, in.Splits[1:6]...)...)
		w.job(t, in)
		nn.has(t, "a job", "/1", "/2")
		if got := w.left(appID(1)); !slices.Equal(got, []string{"/part", "/3"}) {
			t.Errorf("nodes read %v ahead", got)
		}
		time.Sleep(cacheLook + time.Second)
		synctest.Wait()
		want := []Staged{{appID(1), "a", 2}, {appID(1), "b", 2}}
		got := w.Staged()
		if !slices.Equal(got, want) {
			t.Errorf("cached: %v, want %v", got, want)
		}
		w.Told(nil, got)
		time.Sleep(10 * testLease)
		nn.has(t, "it goes on", "/1", "/2")
		w.job(t, reads(2, "/4"))
		nn.has(t, "there is no room for another job", "/1", "/2")
		w.Order(Order{App: appID(1), Total: 3})
		nn.has(t, "no map of a host waits", "/1", "/2")
		w.Order(Order{App: appID(1)})
		nn.has(t, "no map waits")
		if got := w.Staged(); !slices.Equal(got, []Staged{{appID(1), "a", 0}, {appID(1), "b", 0}}) {
			t.Errorf("afterwards: %v", got)
		}
		w.job(t, reads(3, "/5"))
		nn.has(t, "there is room again", "/5")
		w.job(t, reads(3, "/6")) // another attempt
		nn.has(t, "another attempt", "/6")
		w.End(appID(3))
		nn.has(t, "the job has ended")
	})
}

// Without room in DataNodes, rights or a NameNode that takes directives nodes read ahead as before.
func TestWithoutTheCacheNodesReadAhead(t *testing.T) {
	for what, change := range map[string]func(*nameNode){
		"room": func(nn *nameNode) { nn.room = 9 }, "pool": func(nn *nameNode) { nn.fail = errors.New("the pool is full") },
		"rights": func(nn *nameNode) { nn.refuse = errors.New("permission denied") },
	} {
		withCache(t, 1<<30, func(t *testing.T, w *Warmer, nn *nameNode, _ func()) {
			change(nn)
			w.job(t, reads(1, "/1", "/2"))
			nn.has(t, what)
			if got := w.left(appID(1)); !slices.Equal(got, []string{"/1", "/2"}) {
				t.Errorf("%s: nodes read %v ahead", what, got)
			}
			if w.cache.bytes != 0 {
				t.Errorf("%s: %d bytes are taken", what, w.cache.bytes)
			}
		})
	}
}

// A job that has ended before its input was known isn't cached, nor told of.
func TestAJobThatHasEndedIsNotCached(t *testing.T) {
	withCache(t, 1<<30, func(t *testing.T, w *Warmer, nn *nameNode, _ func()) {
		w.Begin(appID(1), "alice")
		w.End(appID(1))
		w.Learn(t.Context(), reads(1, "/1"))
		nn.has(t, "a job that has ended")
		if len(w.Inputs()) > 0 {
			t.Error("the ResourceManager is told")
		}
		w.Begin(appID(2), "alice")
		j := w.cache.jobs[appID(2)]
		w.End(appID(2))
		if done, more := w.cache.file(t.Context(), appID(2), j, "/2", reads(2, "/2").Splits); done || more {
			t.Error("it ends while the NameNode is asked")
		}
		w.job(t, reads(3, "/3")) // wakes what removes directives
		w.End(appID(3))
		nn.has(t, "it has ended while the NameNode was asked")
	})
}

// A node removes what killed ones have left, once it has expired, and its own when it stops. Others' directives stay.
func TestDirectivesThatWereLeftAreRemoved(t *testing.T) {
	withCache(t, 1<<30, func(t *testing.T, w *Warmer, nn *nameNode, stop func()) {
		synctest.Wait()
		for i := range 2 {
			nn.mu.Lock()
			nn.last++
			nn.directives[nn.last] = &directive{file: fmt.Sprint("/left", i), until: time.Now().Add(time.Duration(i) * 20 * time.Minute)}
			nn.mu.Unlock()
		}
		w.job(t, reads(1, "/1"))
		time.Sleep(emptyLook + testLease)
		nn.has(t, "one has expired", "/1", "/left1")
		time.Sleep(20 * time.Minute)
		nn.has(t, "both have", "/1")
		stop()
		nn.has(t, "the node has stopped")
	})
}
