package mapreduce

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"heddle/am/client"
	"heddle/am/mapreduce/job"
	"heddle/am/mapreduce/signed"
	"heddle/internal/pause"
	"heddle/yarn/pb"
)

// Progress is a report of Follow.
type Progress struct {
	Report client.Report // of the application
	Status job.Status    // the latest that is known
	Known  bool          // Status is that of the current ApplicationMaster
	Away   bool          // no ResourceManager has answered for a while
}

// Result is how a job ended.
type Result struct {
	Report client.Report
	Status job.Status // the latest that is known
	Known  bool       // Status is that of the end
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
	transport, err := x.spec.Transport(http.DefaultMaxIdleConnsPerHost)
	if err != nil {
		return Result{}, err
	}
	h := &http.Client{Timeout: statusPatience, Transport: transport}
	defer h.CloseIdleConnections()
	signer := signed.NewSigner(x.spec.Key)
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
			x.clean(context.WithoutCancel(ctx), r.Succeeded())
			return Result{r, p.Status, p.Known && p.Status.Ended}, nil
		}
		tell(p)
		url := r.OriginalTrackingURL
		if r.State != pb.YarnApplicationState_RUNNING || url == "" || url == "N/A" || p.Known && p.Status.Ended {
			if err := pause.For(ctx, reportPause/4); err != nil {
				return Result{p.Report, p.Status, false}, err
			}
			continue
		}
		if url != last {
			last, p.Known, p.Status = url, false, job.Status{}
		}
		plain := url
		if rest, secured := strings.CutPrefix(url, "https://"); secured { // calls are signed, and the port takes both (pages)
			plain = "http://" + rest
		}
		if err := x.listen(ctx, &signed.Caller{Base: plain, Signer: signer, HTTP: h}, &p, tell); err != nil {
			return Result{p.Report, p.Status, false}, err
		}
	}
}

// listen tells for a second what the ApplicationMaster says of the job. The error is that of a context that has ended.
func (x *Submitted) listen(ctx context.Context, master *signed.Caller, p *Progress, tell func(Progress)) error {
	for began := time.Now(); time.Since(began) < time.Second; {
		var s job.Status
		if err := master.Call(ctx, "/status", job.StatusRequest{Version: p.Status.Version, Attempts: x.attempts}, &s); err != nil {
			x.log.WithError(err).Debug("the ApplicationMaster doesn't answer")
			p.Known = false
			return pause.For(ctx, reportPause)
		}
		p.Status, p.Known = s, true
		tell(*p)
		if s.Ended {
			return nil
		}
		if err := pause.For(ctx, reportPause/2); err != nil { // changes come in flocks
			return err
		}
	}
	return nil
}

// Kill ends the job.
func (x *Submitted) Kill(ctx context.Context, why string) error {
	if err := x.apps.Kill(ctx, x.ID, why); err != nil {
		return fmt.Errorf("%v: %w", x.ID, err)
	}
	return nil
}
