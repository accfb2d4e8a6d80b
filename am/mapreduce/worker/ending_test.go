package worker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"heddle/am/mapreduce/input"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/hdfsadapter/hdfstest"
	"heddle/yarn/token"
)

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
			w.master = &signed.Caller{Base: "http://am:1", Signer: signed.NewSigner([]byte("key")), HTTP: &http.Client{Transport: direct{
				signed.Serve(signed.NewGuard([]byte("key")), func(_ context.Context, r *job.DoneReport) (struct{}, error) {
					reports = append(reports, r.Error)
					return struct{}{}, nil
				}),
			}}}
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
