package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/am/mapreduce/served"
	"heddle/am/mapreduce/signed"
	"heddle/internal/await"
)

func TestMain(m *testing.M) { os.Exit(await.NoGoroutines(m.Run())) }

// mapped writes the output of a map task.
func mapped(t *testing.T, o *outputs, m, attempt, reduces int, text []string) {
	t.Helper()
	dir := t.TempDir()
	s := &lines.Sorter{
		Partitions: reduces, Key: func(l []byte) []byte { return lines.Key(l, "\t", 1) }, Limit: 1 << 20, Factor: 10,
		File: func(name string) string { return filepath.Join(dir, name) }, Memory: &lines.Memory{},
	}
	for _, l := range text {
		if err := s.Add(t.Context(), []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.put(m, attempt, f)
}

// testShuffle fetches from what tell returns for every question.
func testShuffle(t *testing.T, maps int, limit int64, tell func(ctx context.Context, from int) (job.OutputsResponse, error)) *shuffle {
	dir := t.TempDir()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return &shuffle{
		reduce: 1, maps: maps, copies: 3, factor: 2, limit: limit, signer: signed.NewSigner([]byte("key")), client: served.Client{HTTP: client}, fellows: client, outputs: tell,
		file:     func(name string) string { return filepath.Join(dir, name) },
		progress: func(int, int) {}, spec: &job.Spec{Maps: maps}, counters: job.Counters{},
		failed: func(context.Context, job.FetchFailure) (bool, error) {
			return false, errors.New("an output can't be fetched")
		},
	}
}

// once tells all events at once, and nothing more until the end.
func once(events []job.MapOutput) func(context.Context, int) (job.OutputsResponse, error) {
	return func(ctx context.Context, from int) (job.OutputsResponse, error) {
		if from >= len(events) {
			<-ctx.Done()
			return job.OutputsResponse{}, ctx.Err()
		}
		return job.OutputsResponse{Events: events[from:], Next: len(events)}, nil
	}
}

func TestShuffleWhateverTheMemory(t *testing.T) {
	o := &outputs{}
	server := httptest.NewServer(signed.NewGuard([]byte("key")).Protect(o))
	defer server.Close()
	const maps = 20
	var want []string
	var events []job.MapOutput
	for m := range maps {
		var text []string
		for i := range m * m { // none of the first
			text = append(text, fmt.Sprintf("%d\t%d", i*37%100, m))
		}
		mapped(t, o, m, 0, 3, text)
		events = append(events, job.MapOutput{Map: m, URL: server.URL})
		for _, l := range text {
			if lines.Partition(lines.Key([]byte(l), "\t", 1), 3) == 1 {
				want = append(want, l)
			}
		}
	}
	slices.Sort(want)
	for _, limit := range []int64{1, 500, 5000, 1 << 30} {
		s := testShuffle(t, maps, limit, once(events))
		if err := s.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.merge(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n"); !slices.Equal(got, want) {
			t.Errorf("limit %d: %d lines instead of %d, or others", limit, len(got), len(want))
		}
		if n := s.counters.Get(job.TaskGroup, job.ShuffledMaps); n != maps || s.size() != int64(out.Len()) {
			t.Errorf("%v for %d bytes", s.counters, out.Len())
		}
	}
}

// An output that is broken, or has gone, is reported, and fetched from where it's said to be then.
func TestShuffleGetsOverLostOutputs(t *testing.T) {
	o := &outputs{}
	mapped(t, o, 0, 0, 2, []string{"a", "b", "c", "d"})
	mapped(t, o, 0, 1, 2, []string{"a", "b", "c", "d"})
	var broken atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("attempt") == "0" {
			broken.Add(1)
			w.Header().Set(sumHeader, "1")
			w.Write([]byte("garbage\n"))
			return
		}
		signed.NewGuard([]byte("key")).Protect(o).ServeHTTP(w, r)
	}))
	defer server.Close()
	var mu sync.Mutex
	events := []job.MapOutput{{Map: 0, Attempt: 0, URL: server.URL}}
	more := make(chan struct{}, 10)
	var failures []job.FetchFailure
	s := testShuffle(t, 1, 1000, func(ctx context.Context, from int) (job.OutputsResponse, error) {
		for {
			mu.Lock()
			if from < len(events) {
				defer mu.Unlock()
				return job.OutputsResponse{Events: slices.Clone(events[from:]), Next: len(events)}, nil
			}
			mu.Unlock()
			select {
			case <-ctx.Done():
				return job.OutputsResponse{}, ctx.Err()
			case <-more:
			}
		}
	})
	s.failed = func(_ context.Context, f job.FetchFailure) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		next := job.MapOutput{Map: 0, Attempt: 1, URL: server.URL}
		if failures = append(failures, f); len(failures) == 1 {
			next = job.MapOutput{Map: 0, Attempt: 7, URL: server.URL} // that isn't there either
		}
		events = append(events, job.MapOutput{Map: 0, Attempt: f.Attempt, Lost: true}, next)
		more <- struct{}{}
		return false, nil
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.merge(t.Context(), &out); err != nil || out.String() != "b\nd\n" && out.String() != "a\nc\n" {
		t.Errorf("%q, %v", &out, err)
	}
	if len(failures) != 2 || !strings.Contains(failures[0].Error, "checksum") || broken.Load() != fetchTries || !strings.Contains(failures[1].Error, "404") {
		t.Errorf("%+v after %d attempts", failures, broken.Load())
	}
}

func TestShuffleEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := testShuffle(t, 1, 1000, func(ctx context.Context, _ int) (job.OutputsResponse, error) {
		cancel()
		<-ctx.Done()
		return job.OutputsResponse{}, ctx.Err()
	})
	if err := s.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	gone := errors.New("gone")
	s = testShuffle(t, 1, 1000, func(context.Context, int) (job.OutputsResponse, error) { return job.OutputsResponse{}, gone })
	if err := s.run(t.Context()); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
}

func TestStrangersGetNothing(t *testing.T) {
	o := &outputs{}
	mapped(t, o, 0, 0, 1, []string{"secret"})
	server := httptest.NewServer(signed.NewGuard([]byte("key")).Protect(o))
	defer server.Close()
	get := func(query, key string) int {
		r, err := http.NewRequest(http.MethodGet, server.URL+outputPath+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			signed.NewSigner([]byte(key)).Sign(r, nil)
		}
		a, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		return a.StatusCode
	}
	const good = "?map=0&attempt=0&reduce=0"
	for _, c := range []struct {
		query, key string
		want       int
	}{
		{good, "key", 200},
		{good, "", 403},
		{good, "other", 403},
		{"?map=0&attempt=0&reduce=1", "key", 404},
		{"?map=0&attempt=0&reduce=-1", "key", 404},
		{"?map=1&attempt=0&reduce=0", "key", 404},
		{"?map=x&attempt=0&reduce=0", "key", 400},
		{"", "key", 400},
	} {
		if got := get(c.query, c.key); got != c.want {
			t.Errorf("%s with key %q: status %d, not %d", c.query, c.key, got, c.want)
		}
	}
}
