package mapreduce

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"heddle/am/client"
	"heddle/yarn/pb"
)

// Progress is what Follow tells.
type Progress struct {
	Report client.Report // of the application
	Status Status        // the latest that is known
	Known  bool          // Status is that of the current ApplicationMaster
	Away   bool          // no ResourceManager has answered for a while
}

// Result is how a job ended.
type Result struct {
	Report client.Report
	Status Status // the latest that is known
	Known  bool   // Status is that of the end
}

// Succeeded reports whether the output is there.
func (r *Result) Succeeded() bool { return r.Report.Succeeded() }

// reportPause is how long after one question about the application the next one comes, and statusPatience how long its
// ApplicationMaster may take to answer before that.
const (
	reportPause    = 200 * time.Millisecond
	statusPatience = 5 * time.Second
)

// awayAfter is how long a ResourceManager may take to answer before that is told.
const awayAfter = 3 * time.Second

// patiently makes a call that may take long, and says so once. It is said by the caller's goroutine.
func patiently(call func() (client.Report, error), limit time.Duration, say func()) (client.Report, error) {
	type answer struct {
		r   client.Report
		err error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := call()
		done <- answer{r, err}
	}()
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		select {
		case a := <-done:
			return a.r, a.err
		case <-late.C:
			say()
		}
	}
}

// Follow tells how the job gets on, and returns when it's over.
func (x *Submitted) Follow(ctx context.Context, tell func(Progress)) (Result, error) {
	h := &http.Client{Timeout: statusPatience, Transport: &http.Transport{}}
	defer h.CloseIdleConnections()
	signer := newSigner(x.spec.Key)
	var p Progress
	var last string // address of the ApplicationMaster
	for {
		r, err := patiently(func() (client.Report, error) { return x.apps.Report(ctx, x.ID) }, awayAfter, func() {
			away := p
			away.Away = true
			tell(away)
		})
		if err != nil {
			return Result{p.Report, p.Status, false}, err
		}
		p.Report = r
		if r.TrackingURL != "" {
			x.TrackingURL = r.TrackingURL
		}
		if r.Ended() {
			x.clean(context.WithoutCancel(ctx))
			return Result{r, p.Status, p.Known && p.Status.Ended}, nil
		}
		tell(p)
		url := r.OriginalTrackingURL
		if r.State != pb.YarnApplicationState_RUNNING || url == "" || url == "N/A" || p.Known && p.Status.Ended {
			if err := pause(ctx, reportPause/4); err != nil {
				return Result{p.Report, p.Status, false}, err
			}
			continue
		}
		if url != last {
			last, p.Known, p.Status = url, false, Status{}
		}
		c := caller{base: url, signer: signer, http: h}
		for began := time.Now(); time.Since(began) < time.Second; {
			var s Status
			if err := c.call(ctx, "/status", statusRequest{p.Status.Version}, &s); err != nil {
				x.log.WithError(err).Debug("The ApplicationMaster doesn't answer")
				p.Known = false
				break
			}
			p.Status, p.Known = s, true
			tell(p)
			if s.Ended {
				break
			}
			if err := pause(ctx, reportPause/2); err != nil { // changes come in flocks
				return Result{p.Report, p.Status, false}, err
			}
		}
		if !p.Known {
			if err := pause(ctx, reportPause); err != nil {
				return Result{p.Report, p.Status, false}, err
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Kill ends the job.
func (x *Submitted) Kill(ctx context.Context, why string) error {
	if err := x.apps.Kill(ctx, x.ID, why); err != nil {
		return fmt.Errorf("%v: %w", x.ID, err)
	}
	return nil
}
