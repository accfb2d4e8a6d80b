package rm

import (
	"context"
	"time"
)

const (
	// diskPoll is how often a leader checks whether acknowledged work lies on one disk only.
	diskPoll = 100 * time.Millisecond
	// diskReport is how often the log repeats that it does.
	diskReport = time.Minute
)

// watchDisks logs when what this leader acknowledges lies on its disk only, and when that is over. With heddle.raft.witness.commit-alone=false
// it ends the lead by calling end instead.
func (r *ResourceManager) watchDisks(ctx context.Context, end func()) {
	tick := time.NewTicker(diskPoll)
	defer tick.Stop()
	var reported time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		away := len(r.raft.OneDisk()) > 0
		switch {
		case away && r.awaitsFull():
			end()
			return
		case away && time.Since(reported) > diskReport:
			_, say := r.raft.Trouble()
			r.log.Warn(say)
			reported = time.Now()
		case !away && !reported.IsZero():
			r.log.Info("acknowledged work is on two disks again")
			reported = time.Time{}
		}
	}
}

// awaitsFull reports whether nothing may be acknowledged that lies on one disk only.
func (r *ResourceManager) awaitsFull() bool {
	_, there, _ := r.conf.WitnessAddress()
	return there && !r.conf.Bool("heddle.raft.witness.commit-alone")
}

// awaitFull waits until another ResourceManager has what this one has, so that it may lead, or the term ends. Meanwhile it accepts members that have
// lost their folders.
func (r *ResourceManager) awaitFull(term context.Context) {
	if !r.awaitsFull() || len(r.raft.OneDisk()) == 0 {
		return
	}
	_, say := r.raft.Trouble()
	r.log.Warn(say)
	ctx, cancel := context.WithCancel(term)
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		r.raft.KeepMembers(ctx)
	}()
	tick := time.NewTicker(diskPoll)
	defer tick.Stop()
	for len(r.raft.OneDisk()) > 0 && term.Err() == nil {
		<-tick.C
	}
	cancel()
	<-kept
}
