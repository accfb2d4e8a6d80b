package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/am/mapreduce/served"
	"heddle/am/mapreduce/signed"
	"heddle/internal/bounded"
	"heddle/internal/pause"
	"heddle/yarn/records"
)

// outputs are the outputs of map tasks that a worker has, and serves.
type outputs struct {
	mu    sync.RWMutex
	files map[[2]int]lines.File // by map and attempt
}

func (o *outputs) put(m, attempt int, f lines.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.files == nil {
		o.files = map[[2]int]lines.File{}
	}
	o.files[[2]int{m, attempt}] = f
}

const (
	outputPath = "/output"
	sumHeader  = "X-Heddle-Crc32c"
)

// ServeHTTP answers /output?map=…&attempt=…&reduce=… with the sorted lines of a map task's output for a reduce task.
func (o *outputs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var n [3]int
	for i, name := range []string{"map", "attempt", "reduce"} {
		var err error
		if n[i], err = strconv.Atoi(q.Get(name)); err != nil {
			http.Error(w, fmt.Sprintf("%s is %q: a number is wanted", name, q.Get(name)), http.StatusBadRequest)
			return
		}
	}
	o.mu.RLock()
	f, ok := o.files[[2]int{n[0], n[1]}]
	o.mu.RUnlock()
	if !ok || n[2] < 0 || n[2] >= len(f.Segments) {
		http.Error(w, fmt.Sprintf("no output of map task %d, attempt %d, for reduce task %d", n[0], n[1], n[2]),
			http.StatusNotFound)
		return
	}
	g := f.Segments[n[2]]
	in, err := os.Open(f.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer in.Close()
	if _, err := in.Seek(g.Offset, io.SeekStart); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(g.Length, 10))
	w.Header().Set(sumHeader, strconv.FormatUint(uint64(g.Sum), 10))
	io.CopyN(w, in, g.Length) // by sendfile; the reader notices if it comes short
}

// shuffle collects what the map tasks have for one reduce task.
type shuffle struct {
	reduce   int
	by       records.AttemptID // that has had the outputs made
	secret   []byte            // for the shuffle services of nodes
	spec     *job.Spec
	maps     int // so many; there may be more to come, as long as they haven't all been fetched
	copies   int
	factor   int
	limit    int64 // bytes kept in memory
	file     func(name string) string
	signer   *signed.Signer
	client   served.Client                                                    // of nodes' shuffle services
	fellows  *http.Client                                                     // of other workers
	outputs  func(ctx context.Context, from int) (job.OutputsResponse, error) // where outputs are
	failed   func(ctx context.Context, f job.FetchFailure) (again bool, err error)
	progress func(done, of int)
	alive    func() // called while it works or waits for map tasks, if it isn't nil
	counters job.Counters

	mu     sync.Mutex
	wake   chan struct{} // closed when there is news
	where  map[int]job.MapOutput
	busy   map[int]bool
	have   map[int]bool
	memory [][]byte
	piled  int64
	disk   []string
	spills int
	err    error
}

// run fetches everything; then merge has it in order.
func (s *shuffle) run(ctx context.Context) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	s.wake = make(chan struct{})
	s.where, s.busy, s.have = map[int]job.MapOutput{}, map[int]bool{}, map[int]bool{}
	var wg sync.WaitGroup
	wg.Go(func() { s.follow(following) })
	var fetchers sync.WaitGroup
	for range s.copies {
		fetchers.Go(func() { s.fetchAll(ctx) })
	}
	fetchers.Wait()
	stop()
	wg.Wait()
	return s.err
}

func (s *shuffle) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && err != nil {
		s.err = err
	}
	s.news()
}

func (s *shuffle) news() {
	close(s.wake)
	s.wake = make(chan struct{})
}

// follow keeps up with where outputs are.
func (s *shuffle) follow(ctx context.Context) {
	from := 0
	for {
		resp, err := s.outputs(ctx, from)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = resp.Check(from, s.spec)
		}
		if err != nil {
			s.fail(err)
			return
		}
		from = resp.Next
		if s.alive != nil {
			// Waiting for map tasks, which may take as long as they like. Fetches have time limits of their own.
			s.alive()
		}
		s.mu.Lock()
		s.maps = max(s.maps, resp.Maps)
		for _, e := range resp.Events {
			if !e.Lost {
				s.where[e.Map] = e
			} else if s.where[e.Map].Attempt == e.Attempt {
				delete(s.where, e.Map)
			}
		}
		s.news()
		s.mu.Unlock()
	}
}

// fetchAll fetches one output after the other until there are all.
func (s *shuffle) fetchAll(ctx context.Context) {
	for {
		s.mu.Lock()
		if s.err != nil || len(s.have) == s.maps {
			s.mu.Unlock()
			return
		}
		var from job.MapOutput
		found := false
		for m, o := range s.where {
			if !s.busy[m] && !s.have[m] {
				from, found = o, true
				s.busy[m] = true
				break
			}
		}
		wake := s.wake
		s.mu.Unlock()
		if !found {
			select {
			case <-ctx.Done():
				s.fail(ctx.Err())
			case <-wake:
			}
			continue
		}
		err := s.fetch(ctx, from)
		s.mu.Lock()
		delete(s.busy, from.Map)
		if err == nil {
			s.have[from.Map] = true
			s.counters.Add(job.TaskGroup, job.ShuffledMaps, 1)
			s.progress(len(s.have), s.maps)
		} else if s.where[from.Map] == from {
			delete(s.where, from.Map)
		}
		s.news()
		s.mu.Unlock()
		var local *localError
		switch {
		case err == nil:
		case ctx.Err() != nil:
			s.fail(ctx.Err())
		case errors.As(err, &local):
			s.fail(err)
		default:
			s.count(job.FailedShuffle, 1)
			again, err := s.failed(ctx, job.FetchFailure{
				Map: from.Map, Attempt: from.Attempt, Gone: errors.Is(err, errNotThere), Error: err.Error(),
			})
			if err == nil && again {
				err = s.again(ctx, from)
			}
			if err != nil {
				s.fail(err)
			}
		}
	}
}

// againPause is how long an output isn't fetched that couldn't be fetched.
const againPause = 2 * time.Second

// again has an output fetched once more, unless there is a newer one by then.
func (s *shuffle) again(ctx context.Context, from job.MapOutput) error {
	if err := pause.For(ctx, againPause); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, newer := s.where[from.Map]; !newer {
		s.where[from.Map] = from
		s.news()
	}
	return nil
}

func (s *shuffle) count(name string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.Add(job.TaskGroup, name, n)
}

// localError is trouble of this side of the shuffle.
type localError struct{ err error }

func (e *localError) Error() string { return "shuffle: " + e.err.Error() }

func (e *localError) Unwrap() error { return e.err }

// Attempts to fetch an output, and the pause between them, which doubles.
const (
	fetchTries = 4
	fetchPause = 250 * time.Millisecond
)

func (s *shuffle) fetch(ctx context.Context, from job.MapOutput) error {
	pause := fetchPause
	for try := 1; ; try++ {
		err := s.fetchOnce(ctx, from)
		var local *localError
		if err == nil || try == fetchTries || ctx.Err() != nil || errors.As(err, &local) || errors.Is(err, errNotThere) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
		s.mu.Lock()
		moved := s.where[from.Map] != from
		s.mu.Unlock()
		if moved {
			return err
		}
	}
}

var errNotThere = errors.New("it isn't there any more")

// fetchStall is how long no byte may come.
const fetchStall = 30 * time.Second

// part is a map's output for a reduce, on its way here: sorted lines.
type part interface {
	io.Reader
	Sum() (uint32, error) // of the lines, after these
}

// fetchOnce fetches an output from the node that serves it, or else from its worker, which may be there, too.
func (s *shuffle) fetchOnce(ctx context.Context, from job.MapOutput) error {
	if from.Node == "" {
		return s.fetchFromWorker(ctx, from)
	}
	err := s.fetchFromNode(ctx, from)
	var refused *served.Refusal
	if !errors.As(err, &refused) {
		return err
	}
	if s.fetchFromWorker(ctx, from) == nil {
		return nil
	}
	return errors.Join(err, errNotThere)
}

func (s *shuffle) fetchFromNode(ctx context.Context, from job.MapOutput) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(fetchStall, cancel)
	defer stall.Stop()
	p, err := s.client.Get(ctx, from.Node, s.secret, s.by.App, served.Name(s.by, from.Map, from.Attempt), s.reduce)
	if err != nil {
		return err
	}
	defer p.Close()
	return s.take(p, p.Length, stall, fmt.Sprintf("%s: output of map task %d", from.Node, from.Map))
}

func (s *shuffle) fetchFromWorker(ctx context.Context, from job.MapOutput) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stall := time.AfterFunc(fetchStall, cancel)
	defer stall.Stop()
	url := fmt.Sprintf("%s%s?map=%d&attempt=%d&reduce=%d", from.URL, outputPath, from.Map, from.Attempt, s.reduce)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	s.signer.Sign(r, nil)
	a, err := s.fellows.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		text, _ := bounded.ReadSome(a.Body, 500)
		err := fmt.Errorf("%s: %s: %s", url, a.Status, text)
		if a.StatusCode == http.StatusNotFound {
			err = errors.Join(err, errNotThere)
		}
		return err
	}
	want, err := strconv.ParseUint(a.Header.Get(sumHeader), 10, 32)
	if err != nil || a.ContentLength < 0 {
		return fmt.Errorf("%s: not the answer of a worker", url)
	}
	return s.take(announced{a.Body, uint32(want)}, a.ContentLength, stall, url)
}

// announced is a part whose sum is known before it comes.
type announced struct {
	io.Reader
	sum uint32
}

func (a announced) Sum() (uint32, error) { return a.sum, nil }

// take takes a part in. what names the part in errors.
func (s *shuffle) take(p part, length int64, stall *time.Timer, what string) error {
	body := &watchedReader{r: p, stall: stall}
	// Those that are on their way at once must not take more than the limit, either.
	if length > s.limit/int64(max(8, s.copies)) {
		return s.toDisk(body, p, what, length)
	}
	data := make([]byte, length)
	if _, err := io.ReadFull(body, data); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err := checkSum(p, what, crc32.Checksum(data, lines.Castagnoli)); err != nil {
		return err
	}
	return s.keep(data)
}

// checkSum compares the sum of what has come with that of what was sent.
func checkSum(p part, what string, got uint32) error {
	want, err := p.Sum()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case got != want:
		return fmt.Errorf("%s: checksum %08x, not %08x", what, got, want)
	}
	return nil
}

type watchedReader struct {
	r     io.Reader
	stall *time.Timer
}

func (w *watchedReader) Read(b []byte) (int, error) {
	n, err := w.r.Read(b)
	w.stall.Reset(fetchStall)
	return n, err
}

func (s *shuffle) newFile() (*os.File, error) {
	s.spills++
	return os.OpenFile(s.file(fmt.Sprintf("fetched%d", s.spills)), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
}

func (s *shuffle) toDisk(r io.Reader, p part, what string, length int64) error {
	s.mu.Lock()
	f, err := s.newFile()
	s.mu.Unlock()
	if err != nil {
		return &localError{err}
	}
	sum := crc32.New(lines.Castagnoli)
	w := &localWriter{w: f}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(w, sum)}, r, make([]byte, lines.Chunk))
	switch {
	case w.err != nil:
		err = &localError{w.err}
	case err == nil && n != length:
		err = io.ErrUnexpectedEOF
	case err == nil:
		err = checkSum(p, what, sum.Sum32())
	}
	if e := f.Close(); err == nil && e != nil {
		err = &localError{e}
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.Add(job.TaskGroup, job.ShuffleBytes, length)
	s.disk = append(s.disk, f.Name())
	return nil
}

// localWriter tells errors of the disk from those of the network.
type localWriter struct {
	w   io.Writer
	err error
}

func (l *localWriter) Write(b []byte) (int, error) {
	n, err := l.w.Write(b)
	l.err = err
	return n, err
}

// keep keeps an output in memory, as long as there is room.
func (s *shuffle) keep(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters.Add(job.TaskGroup, job.ShuffleBytes, int64(len(data)))
	if len(data) == 0 {
		return nil
	}
	s.memory = append(s.memory, data)
	if s.piled += int64(len(data)); s.piled <= s.limit {
		return nil
	}
	var runs []io.Reader
	for _, m := range s.memory {
		runs = append(runs, bytes.NewReader(m))
	}
	if err := s.mergeToDisk(runs); err != nil {
		return err
	}
	s.memory, s.piled = nil, 0
	return nil
}

func (s *shuffle) mergeToDisk(runs []io.Reader) error {
	f, err := s.newFile()
	if err != nil {
		return &localError{err}
	}
	out := bufio.NewWriterSize(lines.Touching{W: f, Alive: s.alive}, lines.Chunk)
	w := &lines.Counter{W: out}
	err = lines.Merge(w, runs)
	if err == nil {
		err = out.Flush()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name())
		return &localError{err}
	}
	s.counters.Add(job.TaskGroup, job.SpilledRecords, w.Lines)
	s.disk = append(s.disk, f.Name())
	return nil
}

// size returns how much was fetched, in bytes.
func (s *shuffle) size() int64 { return s.counters.Get(job.TaskGroup, job.ShuffleBytes) }

// merge writes all that was fetched, in order.
func (s *shuffle) merge(ctx context.Context, w io.Writer) error {
	for len(s.disk) > s.factor {
		some := slices.Clone(s.disk[:s.factor])
		err := withFiles(some, func(runs []io.Reader) error { return s.mergeToDisk(runs) })
		if err != nil {
			return err
		}
		for _, name := range some {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		s.disk = slices.Clone(s.disk[s.factor:])
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return withFiles(s.disk, func(runs []io.Reader) error {
		for _, m := range s.memory {
			runs = append(runs, bytes.NewReader(m))
		}
		return lines.Merge(w, runs)
	})
}

func withFiles(names []string, f func([]io.Reader) error) error {
	var runs []io.Reader
	for _, name := range names {
		r, err := os.Open(name)
		if err != nil {
			return err
		}
		defer r.Close()
		runs = append(runs, r)
	}
	return f(runs)
}
