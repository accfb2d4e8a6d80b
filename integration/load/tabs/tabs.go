// Package tabs behaves towards a ResourceManager as browsers do that have its first page open: each follows the stream of events, and asks for what the page shows.
package tabs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	stream = "/ws/v1/heddle/events?newest=true&kind=node,queues,leadership"
	// between is the time between two refreshes of a page that follows the stream; after an event it refreshes within once or twice after.
	between, after = 10 * time.Second, 500 * time.Millisecond
	// history is asked for less often.
	seldom = 30 * time.Second
)

// often and rarely are the questions of the page (webui/static/pages/overview.js).
var (
	often = []string{
		"/ws/v1/cluster/metrics", "/ws/v1/heddle/waiting?limit=5", "/ws/v1/heddle/nodes?state=LOST,UNHEALTHY,DECOMMISSIONING&limit=5", "/ws/v1/heddle/events?kind=container&limit=8",
		"/ws/v1/heddle/events?kind=application,attempt,node,queues,leadership&limit=12",
	}
	rarely = []string{"/ws/v1/heddle/history?from=6h", "/ws/v1/heddle/history?of=queues&below=root&limit=8&from=6h"}
)

// Tabs are open until Close.
type Tabs struct {
	base   string
	client *http.Client
	stop   context.CancelFunc
	all    sync.WaitGroup
	bytes  atomic.Int64
	failed atomic.Int64
	first  atomic.Pointer[error]
}

// Open opens n tabs at a web port, such as http://rm:8088. They refresh at different times.
func Open(ctx context.Context, base string, n int) *Tabs {
	ctx, stop := context.WithCancel(ctx)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost, transport.DisableCompression = 2*n, true // gzip is asked for by hand, so that bytes count as they come
	t := &Tabs{base: base, client: &http.Client{Transport: transport}, stop: stop}
	for i := range n {
		t.all.Go(func() { t.tab(ctx, time.Duration(i)*between/time.Duration(n)) })
	}
	return t
}

// Close closes the tabs. It returns the bytes of answers that all have got, and an error if a question failed.
func (t *Tabs) Close() (bytes int64, err error) {
	t.stop()
	t.all.Wait()
	t.client.CloseIdleConnections()
	if first := t.first.Load(); first != nil {
		err = fmt.Errorf("%d questions of tabs failed: %w", t.failed.Load(), *first)
	}
	return t.bytes.Load(), err
}

// Bytes are those of answers so far, and Failed the questions that failed.
func (t *Tabs) Bytes() int64 { return t.bytes.Load() }

// Failed is described at Bytes.
func (t *Tabs) Failed() int64 { return t.failed.Load() }

// tab is one, which begins to refresh after a while.
func (t *Tabs) tab(ctx context.Context, begin time.Duration) {
	told := make(chan struct{}, 1)
	t.all.Go(func() { t.follow(ctx, told) })
	tags, asked := map[string]string{}, time.Time{}
	next := time.NewTimer(begin)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
			next.Reset(after + rand.N(after))
			continue
		case <-next.C:
		}
		paths := often
		if time.Since(asked) > seldom {
			paths, asked = append(paths[:len(paths):len(paths)], rarely...), time.Now()
		}
		for _, path := range paths {
			if err := t.ask(ctx, path, tags); err != nil && ctx.Err() == nil {
				t.failed.Add(1)
				t.first.CompareAndSwap(nil, &err)
			}
		}
		next.Reset(between)
	}
}

func (t *Tabs) request(ctx context.Context, path, accept string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+path, nil)
	if err == nil {
		r.Header.Set("Accept", accept)
		r.Header.Set("Accept-Encoding", "gzip")
		r.Header.Set("Cache-Control", "max-age=1") // as pages do
	}
	return r, err
}

// ask asks for one part of the page. What the tab has already isn't sent again.
func (t *Tabs) ask(ctx context.Context, path string, tags map[string]string) error {
	r, err := t.request(ctx, path, "application/json")
	if err != nil {
		return err
	}
	if tag := tags[path]; tag != "" && !strings.Contains(path, "history") {
		r.Header.Set("If-None-Match", tag)
	}
	resp, err := t.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	t.bytes.Add(n)
	if tags[path] = resp.Header.Get("ETag"); err == nil && resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return err
}

// follow tells of each event.
func (t *Tabs) follow(ctx context.Context, told chan<- struct{}) {
	r, err := t.request(ctx, stream, "text/event-stream")
	if err != nil {
		return
	}
	resp, err := t.client.Do(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", stream, resp.Status)
		_ = resp.Body.Close()
	}
	if err != nil {
		if ctx.Err() == nil {
			t.failed.Add(1)
			t.first.CompareAndSwap(nil, &err)
		}
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		t.bytes.Add(int64(len(lines.Bytes())) + 1)
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok && kind != "hello" {
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}
}
