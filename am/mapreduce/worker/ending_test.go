package worker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/hdfsadapter/hdfstest"
	"heddle/yarn/token"
)

// masterOf is an ApplicationMaster that only listens.
func masterOf(progress func(*job.ProgressReport), done func(*job.DoneReport)) *signed.Caller {
	mux, guard := http.NewServeMux(), signed.NewGuard([]byte("key"))
	mux.Handle("/worker/progress", signed.Serve(guard, func(_ context.Context, r *job.ProgressReport) (job.ProgressResponse, error) {
		progress(r)
		return job.ProgressResponse{}, nil
	}))
	mux.Handle("/worker/done", signed.Serve(guard, func(_ context.Context, r *job.DoneReport) (struct{}, error) {
		done(r)
		return struct{}{}, nil
	}))
	return &signed.Caller{Base: "http://am:1", Signer: signed.NewSigner([]byte("key")), HTTP: &http.Client{Transport: direct{mux}}}
}

// Who waits for a process in the background sees it in the task's state, and why the task fails at last.
func TestHeldOutputIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var status string
		w := &worker{
			spec:   &job.Spec{Timeout: 15 * time.Second},
			master: masterOf(func(r *job.ProgressReport) { status = r.Status }, func(*job.DoneReport) {}),
		}
		task := &task{log: newStderr(io.Discard)}
		task.gauge.Store(&gauge{})
		task.log.Write([]byte("reporter:status:at work\n"))
		task.log.hold("held by process 12")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		w.report(ctx, cancel, task)
		if err := context.Cause(ctx); !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "for 15s") || !strings.Contains(err.Error(), "held by process 12") {
			t.Error(err)
		}
		if status != "held by process 12" {
			t.Errorf("status %q", status)
		}
	})
}

// A task that fails because its container ends is no failure of the task's: preempted often enough, it would have the job fail.
func TestEndOfAWorkerIsNoFailureOfItsTask(t *testing.T) {
	for _, x := range []struct {
		name, mapper string
		ends         bool // the worker, while the task runs
		reported     string
	}{
		{"the worker ends", "cat; sleep 1000", true, ""},
		{"the command ends first", "kill -TERM $$", true, ""},
		{"only the command ends", "kill -TERM $$", false, `mapper "kill -TERM $$": signal: terminated`},
		{"the command fails", "exit 3", false, `mapper "exit 3": exit status 3`},
	} {
		t.Run(x.name, func(t *testing.T) {
			logger := logrus.New()
			logger.SetOutput(io.Discard)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var reports []string
			dir := t.TempDir()
			piece := writeFile(t, "in", "line\n")
			a := &job.Assignment{ID: job.TaskID{Kind: job.Map}, Split: &input.Split{Pieces: []input.Piece{piece}, Length: piece.Length}, Output: filepath.Join(dir, "out")}
			w := &worker{
				app: testApp, folder: dir, disks: []string{filepath.Join(dir, "disk")}, log: logrus.NewEntry(logger), files: hdfstest.Adapter(t), creds: &token.Credentials{},
				spec: &job.Spec{Maps: 1, Job: job.Job{Mapper: x.mapper}}, memory: 64 << 20,
			}
			w.master = masterOf(func(r *job.ProgressReport) {}, func(r *job.DoneReport) { reports = append(reports, r.Error) })
			if x.ends {
				time.AfterFunc(farewell/5, cancel)
			}
			err := w.do(ctx, a)
			if x.reported == "" {
				if len(reports) > 0 || !errors.Is(err, context.Canceled) {
					t.Errorf("%q, %v", reports, err)
				}
			} else if err != nil || len(reports) != 1 || !strings.HasSuffix(reports[0], x.reported) {
				t.Errorf("%q, %v, want %q", reports, err, x.reported)
			}
		})
	}
}
