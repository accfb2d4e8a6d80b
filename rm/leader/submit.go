package leader

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/placement"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/request"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/queue"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// NewApplication hands out an id, and says how large a container can be.
// Only its user may submit under it, also after a change of leaders: the ledger has both, in the command that a new id needs anyway.
func (as *applications) NewApplication(user string) (id records.ApplicationID, maximum records.Resource, err error) {
	if len(user) > limit.MaxName { // such users may submit nothing, and would be remembered
		return id, maximum, refusal.New(refusal.Refused, "%.100q can't be a user, as %s", user, notAName)
	}
	err = as.Do(func() error {
		if as.work.LastApplication == math.MaxInt32 {
			return refusal.New(refusal.Refused, "no application ids are left: this cluster has issued 2147483647 of them. Start the ResourceManagers again with empty state folders")
		}
		issued := &ledgerpb.ApplicationIdIssued{}
		if as.work.Version >= ledger.OwnerVersion {
			issued.User = user
		}
		as.Enter(&ledgerpb.Command{ApplicationIdIssued: issued})
		id = records.ApplicationID{ClusterTimestamp: as.work.Timestamp, ID: as.work.LastApplication}
		maximum = as.requests.Maximum()
		return nil
	})
	return id, maximum, err
}

// Submit takes an application. An application of the same user that is known already is left as it is, as clients submit again when they didn't hear the answer. The id
// may not have been issued to another user. (YARN answers "success" to any caller that names a taken id.) An application that names an unknown queue is taken, and fails
// with that reason, as in YARN.
func (as *applications) Submit(user string, ctx *pb.ApplicationSubmissionContext) error {
	if !ctx.HasApplicationId() {
		return refusal.New(refusal.NoApplicationID, "ApplicationId cannot be null")
	}
	id := records.ApplicationIDFrom(ctx.GetApplicationId())
	if id.ID <= 0 || id.ClusterTimestamp <= 0 {
		return refusal.New(refusal.NoApplicationID, "%v is not an application id", id)
	}
	err := as.submitNew(id, user, ctx)
	var refused *refusal.Error
	if errors.As(err, &refused) && as.submittedBy(id, user) {
		return nil // it was admitted before, whatever changed since
	}
	return err
}

// submittedBy reports whether a user's application with that id is known.
func (as *applications) submittedBy(id records.ApplicationID, user string) (known bool) {
	err := as.Do(func() error {
		app := as.work.Apps[id]
		known = app != nil && app.User == user
		return nil
	})
	return known && err == nil
}

// submitNew checks and enters an application.
func (as *applications) submitNew(id records.ApplicationID, user string, ctx *pb.ApplicationSubmissionContext) error {
	if err := as.checkSubmission(id, user, ctx); err != nil {
		return err
	}
	if ctx.HasQueue() && ctx.GetQueue() == "" {
		return refusal.New(refusal.Refused, "Failed to place application %v in a queue and submit context queue is null or empty", id)
	}
	to, err := as.placement.Place(id, user, ctx.GetApplicationName(), queueOf(ctx), ctx.GetApplicationTags())
	if err != nil {
		return err
	}
	if !limit.IsName(to.Path) { // a mapping may have put the application's name into it
		return refusal.New(refusal.Refused, "%v can't be submitted: %.100q can't be a queue, as %s", id, to.Path, notAName)
	}
	if (to.Against == "" || as.Settings.Live.Tree().Kind == queue.Capacity) && as.Settings.MaySubmit != nil && !as.Settings.MaySubmit(user, to.Named) {
		if to.Against, err = as.placement.Denied(id, user, to, queueOf(ctx), as.Settings.ACLs); err != nil {
			return err
		}
	}
	takes := request.Takes{Size: proto.Size(ctx), Memory: limit.Footprint(ctx)}
	return as.Do(func() error {
		if err := takes.Fit(as.work, as.Settings.Bounds, as.Disk(), id, user); err != nil {
			return err
		}
		return as.submit(id, user, to, ctx)
	})
}

// notAName says why a string is no name.
var notAName = fmt.Sprintf("names are UTF-8 of 1 to %d bytes", limit.MaxName)

// checkSubmission refuses what can't be in the log.
func (as *applications) checkSubmission(id records.ApplicationID, user string, ctx *pb.ApplicationSubmissionContext) error {
	if !limit.IsName(user) {
		return refusal.New(refusal.Refused, "%v can't be submitted: %.100q can't be a user, as %s", id, user, notAName)
	}
	if queue := queueOf(ctx); !limit.IsName(queue) {
		return refusal.New(refusal.Refused, "%v can't be submitted: %.100q can't be a queue, as %s", id, queue, notAName)
	}
	if err := proto.CheckInitialized(ctx); err != nil {
		return refusal.New(refusal.Refused, "%v can't be submitted: %v", id, err)
	}
	if err := request.CheckSize(id, proto.Size(ctx), as.Settings.MaxSubmission); err != nil {
		return err
	}
	return request.CheckTags(ctx.GetApplicationTags(), as.Settings.MaxTags, as.Settings.MaxTagLength)
}

// queueOf returns the name of the queue that an application asks for.
func queueOf(ctx *pb.ApplicationSubmissionContext) string {
	if name := ctx.GetQueue(); name != "" {
		return name
	}
	return "default"
}

// submit enters an application for a queue, which is created if need be.
func (as *applications) submit(id records.ApplicationID, user string, to placement.Target, ctx *pb.ApplicationSubmissionContext) error {
	if known, err := request.CheckID(as.work, id, user); known || err != nil {
		return err
	}
	as.placement.Enter(id, user, &to)
	path, against := to.Path, to.Against
	asks, err := as.requests.ForMaster(ctx, path)
	if err != nil {
		return err
	}
	var asked *int32
	if ctx.HasPriority() {
		asked = proto.Int32(ctx.GetPriority().GetPriority())
	}
	priority, err := as.priority(id, user, path, asked)
	if err != nil {
		return err
	}
	request.NoteLabel(ctx, asks)
	cmd := &ledgerpb.ApplicationSubmitted{
		App: ledger.AppRef(id), User: user, Queue: path, Context: ctx,
		Priority:    priority,
		MaxAttempts: request.MaxAttempts(ctx.GetMaxAppAttempts(), as.Settings.MaxAttempts, as.Settings.GlobalMaxAttempts),
		AmResource:  ledger.Amounts(request.MasterSize(asks)),
	}
	life, err := request.Lifetime(as.tree, path, ctx.GetApplicationTimeouts())
	if err != nil {
		return err
	}
	if life > 0 {
		cmd.Expires = request.Expiry(as.Time(), life)
	}
	as.Enter(&ledgerpb.Command{ApplicationSubmitted: cmd})
	as.Log.WithField("application", id).WithField("user", user).WithField("queue", path).Info("application submitted")
	if against != "" {
		as.events.appBegan(as.work.Apps[id])
		as.endApp(as.work.Apps[id], pb.YarnApplicationState_FAILED, pb.FinalApplicationStatus_APP_FAILED, against)
		return nil
	}
	as.addApp(as.work.Apps[id], asks)
	as.attempts.startAttempt(as.work.Apps[id])
	return nil
}

// priority returns the priority of a user's application in a queue. asked is nil if the application asks for none. Only YARN's
// CapacityScheduler has priorities; with the other schedulers the answer is 0.
func (as *applications) priority(id records.ApplicationID, user, path string, asked *int32) (int32, error) {
	if as.tree.Kind != queue.Capacity {
		return 0, nil
	}
	q, ok := as.tree.Find(path)
	if !ok {
		q = &queue.Queue{} // which says nothing of priorities
	}
	p, may := q.PriorityOf(user, asked, as.Settings.MaxPriority, as.Settings.ACLs, as.Settings.Groups)
	if !may {
		return 0, refusal.New(refusal.Refused, "org.apache.hadoop.security.AccessControlException: User %s (auth:SIMPLE) does not have permission to "+
			"submit/update %v for %d", user, id, p)
	}
	return p, nil
}
