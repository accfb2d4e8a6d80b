// Package worker is the process in a job's containers: it asks the ApplicationMaster for tasks, runs the user's commands over their input,
// sorts and shuffles, and serves map outputs to other workers. Run is its main function.
package worker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/client"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/lines"
	"heddle/am/mapreduce/served"
	"heddle/am/mapreduce/signed"
	"heddle/conf/ssl"
	"heddle/hdfsadapter"
	"heddle/yarn/records"
	"heddle/yarn/rest/port"
	"heddle/yarn/token"
)

// Run is the main function of a job's containers other than the ApplicationMaster's. It does tasks until there are none
// left, and returns nil then. master is the ApplicationMaster's http://host:port.
func Run(ctx context.Context, master string, log *logrus.Entry) error {
	w, err := newWorker(master, log)
	if err != nil {
		return err
	}
	defer w.files.Close()
	return w.run(ctx)
}

type worker struct {
	spec      *job.Spec
	app       records.ApplicationID
	container string // id
	folder    string // the container's work folder
	disks     []string
	host      string
	creds     *token.Credentials
	files     *hdfsadapter.Adapter
	master    *signed.Caller
	log       *logrus.Entry
	outputs   outputs
	sorting   lines.Memory
	url       string
	memory    int64 // bytes for the shuffle
	attempt   records.AttemptID
	locals    []string // the application's folders on the disks, where the node's shuffle service finds outputs
	shuffle   int      // port of that service; 0: the worker serves outputs itself
	trust     *ssl.Trust
	proven    bool // it has given an output
}

func newWorker(master string, log *logrus.Entry) (*worker, error) {
	w := &worker{log: log, container: os.Getenv("CONTAINER_ID"), host: os.Getenv("NM_HOST")}
	id, err := records.ParseContainerID(w.container)
	if err != nil {
		return nil, fmt.Errorf("CONTAINER_ID: %w: a worker has to be started by a NodeManager", err)
	}
	w.app, w.attempt = id.Attempt.App, id.Attempt
	if w.folder, err = os.Getwd(); err != nil {
		return nil, err
	}
	if w.spec, err = job.ReadSpec(w.folder); err != nil {
		return nil, err
	}
	if w.host == "" {
		if w.host, err = os.Hostname(); err != nil {
			return nil, err
		}
	}
	if w.creds, err = client.LoadCredentials(nil); err != nil {
		return nil, err
	}
	for _, dir := range strings.Split(os.Getenv("LOCAL_DIRS"), ",") {
		if dir != "" {
			w.disks = append(w.disks, filepath.Join(dir, "mapreduce", w.container))
			w.locals = append(w.locals, dir)
		}
	}
	if w.spec.NodesServe && len(w.locals) > 0 {
		w.shuffle = served.Port(os.Getenv)
	}
	if len(w.disks) == 0 {
		w.disks = []string{filepath.Join(w.folder, "tmp")}
	}
	c, err := w.spec.Config()
	if err != nil {
		return nil, err
	}
	if w.trust, err = ssl.Trusting(c, w.spec.Authorities); err != nil {
		return nil, err
	}
	if err := w.trust.Show(w.spec.Shown); err != nil {
		return nil, err
	}
	if w.files, err = hdfsadapter.New(c, hdfsadapter.Options{Log: log, Trust: w.trust}); err != nil {
		return nil, err
	}
	// Memory not used by the sorter, the shuffle, or this program is left to the user's commands.
	memory := min(w.spec.MapSize.MemoryMB, w.spec.ReduceSize.MemoryMB) << 20
	w.memory = max(memory/5, 8<<20)
	debug.SetMemoryLimit(max(memory*6/10, 64<<20))
	transport, err := w.spec.Transport(4)
	if err != nil {
		return nil, err
	}
	w.master = &signed.Caller{Base: master, Signer: signed.NewSigner(w.spec.Key), HTTP: &http.Client{Transport: transport}}
	return w, nil
}

// fetcher returns a client of nodes' shuffle services.
func (w *worker) fetcher(idle int) served.Client {
	t := &http.Transport{MaxIdleConnsPerHost: idle}
	if w.spec.ServeTLS {
		w.trust.Use(t)
	}
	return served.Client{HTTP: &http.Client{Transport: t}, TLS: w.spec.ServeTLS}
}

func (w *worker) run(ctx context.Context) error {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		return err
	}
	own, err := w.spec.TLS()
	if err != nil {
		l.Close()
		return err
	}
	if own != nil {
		l = tls.NewListener(l, own)
	}
	w.url = "http://" + net.JoinHostPort(w.host, fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
	server := port.New(signed.NewGuard(w.spec.Key).Protect(&w.outputs), port.MaxHeader, nil)
	go server.Serve(l) // until Close
	defer server.Close()
	defer func() {
		for _, dir := range w.disks {
			os.RemoveAll(dir)
		}
	}()
	for {
		var next job.NextResponse
		err := w.master.Insist(ctx, "/worker/next", job.NextRequest{Worker: w.container, Host: w.host, URL: w.url}, &next)
		switch {
		case errors.Is(err, signed.ErrGone), err == nil && next.Exit:
			return nil
		case err != nil:
			return err
		case next.Task == nil:
			continue
		}
		if err := next.Task.Check(w.spec); err != nil {
			return err
		}
		if err := w.do(ctx, next.Task); err != nil {
			return err
		}
	}
}

// do does a task and reports how it went; an error is one of reporting.
func (w *worker) do(ctx context.Context, a *job.Assignment) error {
	log := w.log.WithField("task", a.ID.String())
	log.Info("begins")
	name := a.ID.Name(w.app)
	t := &task{
		Assignment: *a, spec: w.spec, app: w.app, files: w.files.As(w.spec.User, client.Tokens(w.creds)...),
		log: newStderr(os.Stderr), stats: job.Counters{}, memory: &w.sorting, sealed: w.shuffle > 0,
	}
	t.temp = func(file string) string { return filepath.Join(w.disk(a.ID), name, file) }
	if a.Split != nil && len(a.Split.Pieces) > 0 && w.spec.Divides() {
		t.feeding = newFeeding(a.Split)
	}
	t.gauge.Store(&gauge{})
	t.touch()
	working := ctx
	ctx, cancel := context.WithCancelCause(working)
	defer cancel(nil)
	var reporting sync.WaitGroup
	reporting.Go(func() { w.report(ctx, cancel, t) })
	report := job.DoneReport{Worker: w.container, ID: a.ID}
	output, part, err := w.perform(ctx, t, name)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	reporting.Wait()
	if errors.Is(err, errAbandoned) || errors.Is(err, signed.ErrGone) {
		log.Info("abandoned")
		w.clean(a.ID, name)
		return nil
	}
	if err != nil && ends(working, err) {
		log.Info("ends with its worker")
		w.clean(a.ID, name)
		return working.Err()
	}
	if err != nil {
		log.WithError(err).Error("failed")
		report.Error, report.Stderr = err.Error(), t.log.last()
		w.clean(a.ID, name)
	} else {
		log.Info("done")
		if output.Path != "" {
			report.Shuffle = w.leave(context.WithoutCancel(ctx), a.ID, &output)
			w.outputs.put(a.ID.Index, a.ID.Attempt, output)
			report.OutBytes = output.Size()
		}
		report.Output = part
	}
	os.RemoveAll(filepath.Join(w.folder, "work", name))
	t.stats.AddAll(t.log.counters)
	report.Stopped = t.feeding.stopped()
	report.Counters = t.stats
	err = w.master.Insist(context.WithoutCancel(ctx), "/worker/done", report, nil)
	if errors.Is(err, signed.ErrGone) {
		return nil // the next call says so as well
	}
	return err
}

func (w *worker) disk(id job.TaskID) string { return w.disks[diskOf(id, len(w.disks))] }

func diskOf(id job.TaskID, disks int) int { return (id.Index + id.Attempt) % disks }

func (w *worker) clean(id job.TaskID, name string) {
	os.RemoveAll(filepath.Join(w.disk(id), name))
	os.RemoveAll(filepath.Join(w.folder, "work", name))
}

func (w *worker) perform(ctx context.Context, t *task, name string) (output lines.File, part string, err error) {
	if err := os.MkdirAll(filepath.Join(w.disk(t.ID), name), 0o700); err != nil {
		return output, "", err
	}
	if t.dir, err = workFolder(w.folder, name, w.spec.Resources); err != nil {
		return output, "", err
	}
	if t.ID.Kind == job.Map {
		w.sorting.Arena, w.sorting.Entries = w.sorting.Arena[:0], w.sorting.Entries[:0] // the last task may have failed
		return t.runMap(ctx)
	}
	w.sorting = lines.Memory{} // the shuffle needs it
	fellows, err := w.spec.Transport(w.spec.Copies)
	if err != nil {
		return output, "", err
	}
	defer fellows.CloseIdleConnections()
	s := &shuffle{
		reduce: t.ID.Index, by: w.attempt, secret: served.Secret(w.spec.Key), spec: w.spec, maps: w.spec.Maps,
		copies: w.spec.Copies, factor: w.spec.Factor, limit: w.memory, signer: w.master.Signer,
		client: w.fetcher(w.spec.Copies), fellows: &http.Client{Transport: fellows},
		outputs: func(ctx context.Context, from int) (resp job.OutputsResponse, err error) {
			err = w.master.Insist(ctx, "/worker/outputs", job.OutputsRequest{Worker: w.container, From: from}, &resp)
			return resp, err
		},
		failed: func(ctx context.Context, f job.FetchFailure) (bool, error) {
			w.log.WithField("task", t.ID.String()).Warnf("output of map task %d, attempt %d: %s", f.Map, f.Attempt, f.Error)
			f.Worker = w.container
			var verdict job.FetchVerdict
			err := w.master.Insist(ctx, "/worker/lost", f, &verdict)
			return verdict.Again, err
		},
	}
	defer s.client.HTTP.CloseIdleConnections()
	part, err = t.runReduce(ctx, s)
	if err == nil {
		os.RemoveAll(filepath.Join(w.disk(t.ID), name))
	}
	return output, part, err
}

var (
	errAbandoned = errors.New("the ApplicationMaster has abandoned this attempt")
	errStuck     = errors.New("nothing was read or written")
)

// report tells the ApplicationMaster how a task gets on, and ends one that doesn't.
func (w *worker) report(ctx context.Context, cancel context.CancelCauseFunc, t *task) {
	tick := time.NewTimer(job.ReportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.log.mu.Lock()
		status, heard, held := t.log.status, t.log.seen, t.log.held
		t.log.mu.Unlock()
		if limit := w.spec.Timeout; limit > 0 && time.Since(time.Unix(0, t.active.Load())) > limit && time.Since(heard) > limit {
			err := fmt.Errorf("%w for %v (%s)", errStuck, limit, job.KeyTimeout)
			if held != "" {
				err = fmt.Errorf("%w: %s", err, held)
			}
			cancel(err)
			return
		}
		if held != "" {
			status = held
		}
		began := time.Now()
		var resp job.ProgressResponse
		err := w.master.Insist(ctx, "/worker/progress", job.ProgressReport{
			Worker: w.container, ID: t.ID, Progress: t.fraction(), Shuffles: t.shuffles.Load(), Status: status,
			Stopped: t.feeding.stopped(),
		}, &resp)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			cancel(err)
			return
		case resp.Abandon:
			cancel(errAbandoned)
			return
		case resp.Stop != nil:
			t.feeding.stop(resp.Stop)
			tick.Reset(0) // the others may begin when the ApplicationMaster knows
			continue
		}
		tick.Reset(job.ReportEvery - time.Since(began)) // at once: the answer was held back until now
	}
}
