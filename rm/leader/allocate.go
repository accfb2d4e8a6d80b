package leader

import (
	"math"
	"slices"
	"time"

	"heddle/rm/leader/division"
	"heddle/rm/leader/hints"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/masterkey"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/preemption"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/request"
	"heddle/rm/leader/resize"
	"heddle/rm/leader/session"
	"heddle/rm/leader/speed"
	"heddle/rm/leader/swap"
	"heddle/rm/leader/tries"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/eventlog"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// masters hold the dialogue with ApplicationMasters: registration, heartbeats and unregistration.
type masters struct {
	*core
	attempts   *attempts
	containers *containers
	keys       *masterkey.Keys
	preempting *preempting
	requests   *request.Checker
	sizes      *resize.Sizes
	outputs    *outputs.Outputs
	speeds     *speed.Speeds
	meters     hints.Meters
}

// Parts of an answer to an ApplicationMaster.
type (
	Grant      = session.Grant
	Resized    = session.Resized
	NodeUpdate = session.NodeUpdate
)

func (c *core) liveAttempt(id records.AttemptID) (*ledger.Application, *ledger.Attempt, error) {
	app := c.work.Apps[id.App]
	if app == nil || app.State.Ended() || app.Current() == nil || app.Current().ID != id || app.Current().State.Ended() {
		return nil, nil, refusal.New(refusal.NoSuchAttempt, "Application attempt %v doesn't exist in ApplicationMasterService cache.", id)
	}
	return app, app.Current(), nil
}

// AllocateCall is an ApplicationMaster's heartbeat.
type AllocateCall struct {
	ResponseID      int32
	Progress        float32
	Asks            []*pb.ResourceRequest
	Releases        []records.ContainerID
	BlacklistAdd    []string
	BlacklistRemove []string
	TrackingURL     string
	Updates         []resize.Wish
	Stages          *StageReport // nil: nothing is new
	Performance     []speed.Report
	Tries           []tries.Told
	WantsHints      bool
	WantsClasses    bool
	// Wait is how long the answer may be held back until there is something to tell.
	Wait time.Duration
	// Probes says whether it wants to know of nodes that take probes.
	Probes bool
	Swaps  []swap.Wish
	// Scheduling are requests with allocation tags and placement constraints.
	Scheduling []*pb.SchedulingRequest
}

// StageReport is what an ApplicationMaster tells of the stages of its work, in all.
type StageReport struct {
	Outputs    outputs.Amount
	Containers hints.Report
	Tasks      scheduler.TaskReport
}

// AllocateReply is the answer to it.
type AllocateReply struct {
	ResponseID int32
	Grants     []Grant
	Completed  []Completion
	Updated    []NodeUpdate
	Resized    []Resized
	Unresized  []resize.Refused
	NewNodes   []records.NodeID // nodes of Grants for which it needs a token
	Limit      records.Resource // headroom
	Nodes      int              // nodes in the cluster
	Priority   int32
	Preemption preemption.Message
	ProbeNodes []lending.ProbeNode // that it hasn't been told of, each with a token
	ProbesGone []records.NodeID
	Hints      hints.Hints        // all that hold now, if they aren't what was told; else none
	Classes    []speed.Class      // that have changed since the last answer
	Suspended  *session.Suspended // the application's containers that are suspended; nil if that is no news
	Unswapped  []swap.Refused
	Rejected   []*pb.RejectedSchedulingRequest
}

func (r *AllocateReply) empty() bool {
	return len(r.Grants) == 0 && len(r.Completed) == 0 && len(r.Updated) == 0 && len(r.Resized) == 0 && len(r.Unresized) == 0 && len(r.Unswapped)+len(r.Rejected) == 0 &&
		!r.Preemption.New && r.Suspended == nil && len(r.ProbeNodes)+len(r.ProbesGone) == 0
}

// Allocate takes an ApplicationMaster's wishes and tells it what has become of the earlier ones. Containers that can be
// placed at once are in the same answer. An answer that was lost is given again to a caller that repeats its last call.
func (ms *masters) Allocate(id records.AttemptID, call AllocateCall) (AllocateReply, error) {
	s := ms.masterSessions.Get(id)
	if s == nil {
		return AllocateReply{}, refusal.New(refusal.NoSuchAttempt,
			"Application attempt %v doesn't exist in ApplicationMasterService cache.", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.At(ms.Now())
	switch s.dialogue.Judge(call.ResponseID) {
	case session.Unregistered:
		return AllocateReply{}, refusal.New(refusal.NotRegistered, "AM is not registered for known application attempt: %v or RM had "+
			"restarted after AM registered.  AM should re-register.", id)
	case session.Repeated:
		return s.dialogue.Last(), nil
	case session.OutOfOrder:
		return AllocateReply{}, refusal.New(refusal.InvalidAMRequest, "Invalid responseId in AllocateRequest from application attempt: %v, "+
			"expect responseId to be %d, but get %d", id, s.dialogue.ResponseID(), call.ResponseID)
	}
	if p := call.Progress; !math.IsNaN(float64(p)) {
		s.progress.Store(math.Float32bits(min(max(p, 0), 1)))
	}
	call.TrackingURL = limit.Head(call.TrackingURL, limit.MaxURL) // it is compared to what is on record
	ms.speeds.Take(id.App, s.user, call.Performance)
	var reply AllocateReply
	err := ms.Do(func() error { return ms.allocate(id, &call, &reply) })
	if err == nil {
		err = ms.tellOfProbes(s, &call, &reply)
	}
	if err == nil && reply.empty() && call.Wait > 0 {
		ms.await(s, call.Wait)
		if err = ms.Do(func() error { return ms.allocate(id, &AllocateCall{}, &reply) }); err == nil {
			err = ms.tellOfProbes(s, &call, &reply)
		}
	}
	if err != nil {
		return AllocateReply{}, err
	}
	s.seen.At(ms.Now())
	reply.ResponseID = session.NextID(call.ResponseID)
	reply.NewNodes = ms.newNodes(s, reply.Grants)
	ms.inform(s, &call, &reply)
	s.dialogue.Answered(reply)
	return reply, nil
}

// await returns when there is something to tell, or the time is up.
func (ms *masters) await(s *amSession, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.wake:
	case <-s.nudged:
	case <-timer.C:
	case <-ms.Ended():
	}
}

// asked returns what a call asks for, those of scheduling requests last. It refuses a call that asks for what can't be.
func (ms *masters) asked(soft *appSoft, app *ledger.Application, id records.AttemptID, call *AllocateCall) ([]scheduler.Ask, error) {
	rows, err := ms.Settings.Constraints.Rows(id, ms.requests.Queues().Kind, call.Scheduling)
	if err != nil {
		return nil, err
	}
	asks, err := ms.requests.All(app.Context, app.Queue, call.Asks, rows, ms.Settings.Constraints.Capped())
	if err == nil {
		err = ms.checkCall(app, call)
	}
	if err == nil {
		err = ms.requests.Limit(soft.id, soft.handle, asks, len(call.BlacklistAdd))
	}
	if err == nil && len(call.Scheduling) > 0 {
		err = soft.wishes.Place(ms.Settings.Constraints, id, call.Scheduling, asks[len(call.Asks):], ms.sched.Outstanding(soft.handle), ms.requests.LabelsOf(app.Queue))
	}
	return asks, err
}

func (ms *masters) allocate(id records.AttemptID, call *AllocateCall, reply *AllocateReply) error {
	app, attempt, err := ms.liveAttempt(id)
	if err != nil {
		return err
	}
	soft := ms.apps[id.App]
	asks, err := ms.asked(soft, app, id, call)
	if err != nil {
		return err
	}
	ms.acknowledge(soft)
	tries.Enter(ms, ms.work, attempt, call.Tries, !ms.Settings.NoReceipts)
	if call.TrackingURL != "" && call.TrackingURL != attempt.TrackingURL && attempt.State == ledger.AttemptRunning {
		ms.Enter(&ledgerpb.Command{AttemptRegistered: &ledgerpb.AttemptRegistered{
			Attempt: ledger.AttemptRef(id), Host: attempt.Host, RpcPort: attempt.RPCPort, TrackingUrl: call.TrackingURL,
		}})
	}
	ms.containers.release(app, call.Releases)
	reply.Unresized = append(reply.Unresized, ms.sizes.Apply(app, call.Updates)...)
	if len(call.BlacklistAdd)+len(call.BlacklistRemove) > 0 {
		ms.sched.Apply(&eventlog.Event{Op: eventlog.UpdateBlacklist, App: soft.handle, Add: call.BlacklistAdd, Remove: call.BlacklistRemove})
	}
	ms.reject(soft, reply)
	if asks, err = ms.chances.Serve(app, asks, call.BlacklistAdd, call.BlacklistRemove); err != nil {
		return err
	}
	if len(asks) > 0 && attempt.State < ledger.AttemptFinishing {
		division.Mark(asks, soft.longTasks)
		ms.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: soft.handle, Asks: asks})
		soft.asked.Update(asks, ms.Date().UnixMilli())
		ms.inputs.Asked(id.App, call.Asks)
	}
	if call.Stages != nil {
		ms.outputs.Told(id.App, soft.handle, call.Stages.Outputs)
		soft.told.Report = &call.Stages.Containers
		tasks := eventlog.Tasks(call.Stages.Tasks.Sane())
		ms.sched.Apply(&eventlog.Event{Op: eventlog.NoteTasks, App: soft.handle, Tasks: &tasks})
	}
	if call.WantsHints {
		ms.meters.Want(app.Queue, ms.Now().Sub(ms.began))
	}
	reply.Hints = soft.told.Hints
	reply.Hints.Copies, reply.Hints.Divides = ms.sched.CopiesOf(soft.handle)
	asked, refused := ms.swaps.Enter(app, call.Swaps)
	ms.containers.schedule()
	reply.Unswapped = append(append(reply.Unswapped, refused...), ms.swaps.Undecided(app, asked)...)
	ms.showProgress(soft, call.Progress)
	limit, nodes, priority := ms.sched.HeadroomOf(soft.handle), ms.sched.OpenNodes(), app.Priority
	reply.Preemption = ms.preempting.message(soft, id)
	ms.AfterCommit(func() {
		u := soft.box.Deliver()
		reply.Grants, reply.Completed, reply.Updated, reply.Resized = u.Grants, u.Completed, u.Nodes, u.Resized
		reply.Suspended = u.Suspended
		reply.Limit, reply.Nodes, reply.Priority = limit, nodes, priority
	})
	return nil
}

// reject withdraws requests whose constraints couldn't be met for some calls, where they are rejected then, and has others be tried on other nodes.
func (ms *masters) reject(soft *appSoft, reply *AllocateReply) {
	rejected, asks := soft.wishes.Rejected(ms.Settings.Constraints, ms.sched.Outstanding(soft.handle))
	if len(asks) > 0 {
		ms.sched.Apply(&eventlog.Event{Op: eventlog.UpdateAsks, App: soft.handle, Asks: asks})
		soft.asked.Update(asks, ms.Date().UnixMilli())
		reply.Rejected = append(reply.Rejected, rejected...)
	}
}

// TakeConstraints takes the placement constraints that an ApplicationMaster registers with.
func (ms *masters) TakeConstraints(id records.AttemptID, all []*pb.PlacementConstraintMapEntry) error {
	return ms.Do(func() error {
		if _, _, err := ms.liveAttempt(id); err != nil {
			return err
		}
		return ms.apps[id.App].wishes.Register(ms.Settings.Constraints, id, all)
	})
}

// inform adds what an ApplicationMaster wants to know of its queue and of nodes, if there is anything new.
func (ms *masters) inform(s *amSession, call *AllocateCall, reply *AllocateReply) {
	if call.WantsHints && !reply.Hints.Near(s.hinted) {
		s.hinted = reply.Hints
	} else {
		reply.Hints = hints.Hints{}
	}
	if call.WantsClasses {
		reply.Classes, s.classes = ms.speeds.Since(s.classes)
	}
}

// showProgress tells the driver how far an application is, not more often than each hundredth. It is told also where nothing is suspended:
// if that is switched on, what containers cost is known.
func (ms *masters) showProgress(soft *appSoft, part float32) {
	const step = 0.01
	if !(part > 0 && part <= 1) || math.Abs(float64(part-soft.progress)) < step {
		return
	}
	soft.progress = part
	ms.sched.Apply(&eventlog.Event{Op: eventlog.SetProgress, App: soft.handle, Part: float64(part)})
}

// acknowledge forgets the ended containers in replies that the ApplicationMaster has received, now that it has called again.
func (ms *masters) acknowledge(soft *appSoft) {
	var known []records.ContainerID
	for _, id := range soft.box.Acknowledge() {
		if c := ms.work.Container(id); c != nil && !c.Live() {
			known = append(known, id)
		}
	}
	for part := range slices.Chunk(known, maxTogether) {
		ms.Enter(&ledgerpb.Command{ContainersReported: &ledgerpb.ContainersReported{
			Containers: ledger.ContainerRefs(part...),
		}})
	}
}

func (ms *masters) checkCall(app *ledger.Application, call *AllocateCall) error {
	for _, name := range call.BlacklistAdd {
		if name == scheduler.Any {
			return refusal.New(refusal.InvalidBlacklist, "Cannot add * to the blacklist!")
		}
	}
	for _, id := range call.Releases {
		if id.Attempt.App != app.ID {
			return refusal.New(refusal.InvalidRelease, "Cannot release container : %v not belonging to this application attempt : %v",
				id, app.Current().ID)
		}
	}
	return nil
}
