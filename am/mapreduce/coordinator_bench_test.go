package mapreduce

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/yarn/rest/port"
)

// What a large job has.
const (
	largeWorkers, largeMaps, largeReduces = 900, 10_000, 100
	largeTask                             = 20 * time.Second
)

// coordinates is the environment variable by which a test program becomes the coordinator of a large job, with copies of slow tasks if it
// is esplash.
const coordinates = "HEDDLE_TEST_COORDINATOR"

// large is what a coordinator says of itself.
type large struct {
	URL     string
	Workers []string
	Every   time.Duration // between two reports of a worker
}

// coordinate serves a large job, as its ApplicationMaster does, until it is killed. POST /pass has its clock go on by a second; nobody waits for
// answers that wait for news.
func coordinate() {
	p := newPlayOf(job.Job{Reduces: largeReduces, Speculation: os.Getenv(coordinates)}, 3, largeMaps, func() (hosts []string) {
		for i := range largeMaps {
			hosts = append(hosts, fmt.Sprint("h", i%300))
		}
		return hosts
	}()...)
	p.cluster.nodes = 300
	var passed atomic.Int64 // seconds
	began := p.now
	p.c.now = func() time.Time { return began.Add(time.Duration(passed.Load()) * time.Second) }
	l := large{}
	for i := range largeWorkers {
		if w := p.grant(fmt.Sprint("h", i%300)); w != "" {
			l.Workers = append(l.Workers, w)
		}
	}
	l.Every = p.c.reportEvery()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	l.URL = "http://" + at.Addr().String()
	m := &master{spec: p.c.spec, tasks: p.c}
	h := m.handler()
	hurried, cancel := context.WithCancel(context.Background())
	cancel()
	if err := json.NewEncoder(os.Stdout).Encode(l); err != nil {
		panic(err)
	}
	panic(port.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pass" {
			passed.Add(1)
			p.c.relieve()
			return
		}
		h.ServeHTTP(w, r.WithContext(hurried))
	}), port.MaxHeader, nil).Serve(at))
}

// largeWorker is a worker of a large job with a connection of its own.
type largeWorker struct {
	name   string
	signer *signed.Signer
	client http.Client
	task   *job.Assignment
}

// send sends a message, as fast as it can.
func (w *largeWorker) send(l *large, path string, req, resp any) error {
	body, err := json.Marshal(req)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, l.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	w.signer.Sign(r, body)
	a, err := w.client.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %s", path, a.Status, text)
	}
	if resp == nil {
		return nil
	}
	return json.Unmarshal(text, resp)
}

// BenchmarkLargeJob has 900 workers do 10,000 maps of 20 s each and 100 reduces. The coordinator is a process of its own that they speak to over
// TCP, each on a connection, as in a live job, but without the waiting. It tells which part of a processor core that process takes of
// the time that the job would: its processor time by its lifetime in the job's clock.
func BenchmarkLargeJob(b *testing.B) {
	for _, speculation := range []string{job.SpeculateNone, job.SpeculateESplash} {
		b.Run(speculation, func(b *testing.B) {
			var used, lasts time.Duration
			var sent atomic.Int64
			for b.Loop() {
				cpu, simulated := runLarge(b, speculation, &sent)
				used, lasts = used+cpu, lasts+simulated
			}
			b.ReportMetric(100*used.Seconds()/lasts.Seconds(), "%core")
			b.ReportMetric(float64(sent.Load())/float64(b.N), "messages")
			b.ReportMetric(float64(used.Microseconds())/float64(sent.Load()), "µs/message")
		})
	}
}

// runLarge runs a large job. It returns how much processor time the coordinator has taken, and how long the job lasted by its clock.
func runLarge(b *testing.B, speculation string, sent *atomic.Int64) (cpu, simulated time.Duration) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), coordinates+"="+speculation)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	defer end()
	var l large
	if err := json.NewDecoder(out).Decode(&l); err != nil {
		b.Fatal(err)
	}
	if len(l.Workers) != largeWorkers {
		b.Fatalf("%d workers", len(l.Workers))
	}
	workers := make([]*largeWorker, len(l.Workers))
	for i, name := range l.Workers {
		workers[i] = &largeWorker{name: name, signer: signed.NewSigner(nil), client: http.Client{Transport: &http.Transport{}}}
	}
	defer func() {
		for _, w := range workers {
			w.client.CloseIdleConnections()
		}
	}()
	each := func(do func(w *largeWorker) error) {
		var all errgroup.Group
		all.SetLimit(8)
		for _, w := range workers {
			all.Go(func() error { return do(w) })
		}
		if err := all.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	clock := &largeWorker{signer: signed.NewSigner(nil)}
	pass := func(d time.Duration) {
		for range d / time.Second {
			if err := clock.send(&l, "/pass", struct{}{}, nil); err != nil {
				b.Fatal(err)
			}
			var s job.Status
			if err := clock.send(&l, "/status", job.StatusRequest{}, &s); err != nil { // as the user's side does
				b.Fatal(err)
			}
		}
		simulated += d
	}
	counters := job.Counters{job.TaskGroup: {job.MapInputRecords: 1, job.MapInputBytes: 2, job.MapOutputRecords: 3, job.MapOutputBytes: 4, job.SpilledRecords: 5}}
	var done atomic.Int64
	for done.Load() < largeMaps+largeReduces {
		before := done.Load()
		var gone atomic.Int64
		each(func(w *largeWorker) error {
			var next job.NextResponse
			sent.Add(1)
			err := w.send(&l, "/worker/next", job.NextRequest{Worker: w.name, URL: "http://h:1"}, &next)
			if w.task = next.Task; next.Exit {
				gone.Add(1)
			}
			return err
		})
		for at := l.Every; at < largeTask; at += l.Every {
			each(func(w *largeWorker) error {
				if w.task == nil {
					return nil
				}
				sent.Add(1)
				err := w.send(&l, "/worker/progress", job.ProgressReport{Worker: w.name, ID: w.task.ID, Progress: at.Seconds() / largeTask.Seconds()}, &job.ProgressResponse{})
				if err != nil || w.task.ID.Kind != job.Reduce {
					return err
				}
				sent.Add(1)
				return w.send(&l, "/worker/outputs", job.OutputsRequest{Worker: w.name, From: 0}, &job.OutputsResponse{})
			})
			pass(l.Every.Truncate(time.Second))
		}
		each(func(w *largeWorker) error {
			if w.task == nil {
				return nil
			}
			d := job.DoneReport{Worker: w.name, ID: w.task.ID, Counters: counters}
			if w.task.ID.Kind == job.Reduce {
				d.Output = w.task.Part()
			}
			w.task = nil
			sent.Add(1)
			done.Add(1)
			return w.send(&l, "/worker/done", d, nil)
		})
		if done.Load() == before {
			b.Fatalf("%d tasks are done, and nobody has anything to do; %d workers went", before, gone.Load())
		}
	}
	clock.client.CloseIdleConnections()
	end()
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), simulated
}
