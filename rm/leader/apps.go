package leader

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"heddle/rm/leader/asktime"
	"heddle/rm/leader/delegation"
	"heddle/rm/leader/hints"
	"heddle/rm/leader/issued"
	"heddle/rm/leader/outputs"
	"heddle/rm/leader/placement"
	"heddle/rm/leader/preemption"
	"heddle/rm/leader/refusal"
	"heddle/rm/leader/request"
	"heddle/rm/leader/session"
	"heddle/rm/leader/startrefusal"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// applications are submitted, changed and ended here.
type applications struct {
	*core
	attempts   *attempts
	carried    *delegation.Carried
	containers *containers
	placement  *placement.Placement
	requests   *request.Checker
	refusals   *startrefusal.Refusals
	outputs    *outputs.Outputs
	issued     issued.IDs
	seq        int64 // of the last application that the scheduler has got
}

// appSoft is what the leader alone knows of a live application.
type appSoft struct {
	id      records.ApplicationID
	handle  scheduler.AppHandle
	amAsks  []scheduler.Ask  // for the ApplicationMaster's container
	granted []drive.Decision // that aren't entered yet
	session *amSession       // of the current attempt
	asked   asktime.Times
	nodes   map[records.NodeID]bool // that have, or had, containers of it
	long    bool                    // its tasks are
	// Hosts on which its ApplicationMaster couldn't be launched, those of them that are on its blacklist now, and how many launches in
	// a row nodes have not answered.
	shunned, avoided []string
	misfires         int
	// inherited is that an earlier leadership has set when its lifetime ends.
	inherited bool
	progress  float32 // as the driver knows it
	told      hints.Told

	box      session.MasterBox // for the ApplicationMaster's next heartbeat
	warnings preemption.Warnings
}

// NewApplication hands out an id, and says how large a container can be.
// Only its user may submit under it.
func (as *applications) NewApplication(user string) (id records.ApplicationID, maximum records.Resource, err error) {
	err = as.Do(func() error {
		as.Enter(&ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}})
		id = records.ApplicationID{ClusterTimestamp: as.work.Timestamp, ID: as.work.LastApplication}
		as.issued.Add(id, user)
		maximum = as.requests.Maximum()
		return nil
	})
	return id, maximum, err
}

// Submit takes an application. An application that is known already is left as it is, as clients submit again when they
// didn't hear the answer. One that names an unknown queue is taken, and fails with that reason, as in YARN.
func (as *applications) Submit(user string, ctx *pb.ApplicationSubmissionContext) error {
	if !ctx.HasApplicationId() {
		return refusal.New(refusal.NoApplicationID, "ApplicationId cannot be null")
	}
	id := records.ApplicationIDFrom(ctx.GetApplicationId())
	if id.ID <= 0 || id.ClusterTimestamp <= 0 {
		return refusal.New(refusal.NoApplicationID, "%v is not an application id", id)
	}
	if err := as.checkSubmission(id, user, ctx); err != nil {
		return err
	}
	if ctx.HasQueue() && ctx.GetQueue() == "" {
		return refusal.New(refusal.Refused, "Failed to place application %v in a queue and submit context queue is null or empty", id)
	}
	path, against, err := as.placement.Place(id, user, ctx.GetApplicationName(), queueOf(ctx))
	if err != nil {
		return err
	}
	if !limit.IsName(path) { // a mapping may have put the application's name into it
		return refusal.New(refusal.Refused, "%v can't be submitted: %.100q can't be a queue, as %s", id, path, notAName)
	}
	if as.Settings.MaySubmit != nil && !as.Settings.MaySubmit(user, path) {
		return refusal.New(refusal.AccessDenied, "User %s does not have permission to submit %v to queue %s", user, id, as.placement.Closed(path, queueOf(ctx)))
	}
	return as.Do(func() error { return as.submit(id, user, path, against, ctx) })
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
	most := limit.MaxCommand - 4*limit.MaxName
	if limit := as.Settings.MaxSubmission; limit > 0 {
		most = min(most, limit)
	}
	if size := proto.Size(ctx); size > most {
		return refusal.New(refusal.Refused, "%v can't be submitted: its submission context has %d bytes, and may have %d. Put large content into files "+
			"(local resources), or have the ResourceManager's administrator raise heddle.submission.max-bytes", id, size, most)
	}
	return as.checkTags(ctx.GetApplicationTags())
}

// checkTags has the words of Hadoop's ApplicationSubmissionContext, to which tags are a set: the same one again doesn't count.
func (as *applications) checkTags(tags []string) error {
	tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	if most := as.Settings.MaxTags; most > 0 && len(tags) > most {
		return refusal.New(refusal.InvalidTag, "Too many applicationTags, a maximum of only %d are allowed!", most)
	}
	for _, tag := range tags {
		if most := as.Settings.MaxTagLength; most > 0 && utf8.RuneCountInString(tag) > most {
			return refusal.New(refusal.InvalidTag, "Tag %s is too long, maximum allowed length of a tag is %d", tag, most)
		}
		if strings.ContainsFunc(tag, func(r rune) bool { return r > unicode.MaxASCII }) {
			return refusal.New(refusal.InvalidTag, "A tag can only have ASCII characters! Invalid tag - %s", tag)
		}
	}
	return nil
}

// queueOf is the name of the queue that an application asks for.
func queueOf(ctx *pb.ApplicationSubmissionContext) string {
	if name := ctx.GetQueue(); name != "" {
		return name
	}
	return "default"
}

// submit enters an application for a queue; against is why it fails at once, "" if nothing is.
func (as *applications) submit(id records.ApplicationID, user, path, against string, ctx *pb.ApplicationSubmissionContext) error {
	if as.work.Apps[id] != nil {
		return nil
	}
	if to, known := as.issued.To(id); known && to != user {
		return refusal.New(refusal.AccessDenied, "User %s cannot submit %v, as that id was given to another user. Ask for a new one", user, id)
	}
	asks, err := as.requests.ForMaster(ctx, path)
	if err != nil {
		return err
	}
	if against == "" {
		against = as.placement.Full(id, user, path)
	}
	var asked *int32
	if ctx.HasPriority() {
		asked = proto.Int32(ctx.GetPriority().GetPriority())
	}
	priority, err := as.priority(id, user, path, asked)
	if err != nil {
		return err
	}
	cmd := &ledgerpb.ApplicationSubmitted{
		App: ledger.AppRef(id), User: user, Queue: path, Context: ctx,
		Priority:    priority,
		MaxAttempts: as.maxAttempts(ctx.GetMaxAppAttempts()),
		AmResource:  ledger.Amounts(request.MasterSize(asks)),
	}
	life, err := as.lifetime(path, ctx.GetApplicationTimeouts())
	if err != nil {
		return err
	}
	if life > 0 {
		cmd.Expires = as.Time() + 1000*life
	}
	as.Enter(&ledgerpb.Command{ApplicationSubmitted: cmd})
	as.Log.WithField("application", id).WithField("user", user).WithField("queue", path).Info("application submitted")
	if against != "" {
		as.carried.Add(as.work.Apps[id])
		as.endApp(as.work.Apps[id], pb.YarnApplicationState_FAILED, pb.FinalApplicationStatus_APP_FAILED, against)
		return nil
	}
	as.addApp(as.work.Apps[id], asks)
	as.attempts.startAttempt(as.work.Apps[id])
	return nil
}

// lifetime is how long an application may live that asks for some time, in seconds; what isn't above 0 is for ever.
func (as *applications) lifetime(path string, asked []*pb.ApplicationTimeoutMap) (life int64, err error) {
	for _, to := range asked {
		if to.GetApplicationTimeoutType() != pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME {
			continue
		}
		if life = to.GetTimeout(); life <= 0 {
			return 0, refusal.New(refusal.Refused, "Invalid application timeout, value=%d for type=LIFETIME", life)
		}
	}
	if q, ok := as.Settings.Queues.Find(path); ok {
		return q.Lifetime(life), nil
	}
	return life, nil
}

// priority is what the cluster makes of the priority that an application asks for. Of YARN's schedulers only the
// priority is the priority of an application of a user in a queue that asks for one, or for none. Only capacity queues have any.
func (as *applications) priority(id records.ApplicationID, user, path string, asked *int32) (int32, error) {
	if as.Settings.Queues.Kind != queue.Capacity {
		return 0, nil
	}
	q, ok := as.Settings.Queues.Find(path)
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

func (as *applications) maxAttempts(asked int32) int32 {
	switch {
	case asked <= 0:
		return as.Settings.MaxAttempts
	case asked > as.Settings.GlobalMaxAttempts:
		return as.Settings.GlobalMaxAttempts
	}
	return asked
}

// NeverSuspend is the tag of applications whose containers preemption doesn't suspend, as they can't stand still for long.
const NeverSuspend = "never-suspend"

func (as *applications) addApp(app *ledger.Application, asks []scheduler.Ask) *appSoft {
	as.seq++
	a := &appSoft{
		id: app.ID, amAsks: asks, nodes: map[records.NodeID]bool{},
		handle: as.sched.AddApp(drive.AppSpec{
			AppSpec: scheduler.AppSpec{Priority: app.Priority, Seq: as.seq, Queue: app.Queue, User: app.User, Type: app.Context.GetApplicationType(), AM: request.MasterSize(asks)},
			ID:      app.ID, SpareMaster: app.Context.GetUnmanagedAm(), NeverSuspend: slices.Contains(app.Context.GetApplicationTags(), NeverSuspend),
		}),
	}
	var err error
	if a.long, err = as.Settings.Division.Long(app.Context.GetApplicationTags(), app.Queue); err != nil {
		as.Log.WithField("application", app.ID).WithError(err).Warn("how long its tasks take isn't known")
	}
	as.markWork(a, a.amAsks)
	as.apps[app.ID] = a
	as.byHandle[a.handle] = a
	as.carried.Add(app)
	return a
}

// Kill ends an application. It reports that it has ended; only an unknown one is refused.
func (as *applications) Kill(id records.ApplicationID, diagnostics string) error {
	return as.Do(func() error {
		app := as.work.Apps[id]
		if app == nil {
			return refusal.New(refusal.NoSuchApplication, "Trying to kill an absent application %v", id)
		}
		if !app.State.Ended() {
			as.kill(app, diagnostics)
		}
		return nil
	})
}

func (as *applications) kill(app *ledger.Application, diagnostics string) {
	if attempt := app.Current(); attempt != nil && !attempt.State.Ended() {
		as.attempts.stopAM(app, attempt)
		as.attempts.endAttempt(app, attempt, attemptEnd{
			state: pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, diagnostics: diagnostics,
			exit: records.ExitKilledByResourceManager,
		})
	}
	as.endApp(app, pb.YarnApplicationState_KILLED, pb.FinalApplicationStatus_APP_KILLED, diagnostics)
}

// endApp ends an application whose last attempt has ended, and cleans up behind it.
func (as *applications) endApp(
	app *ledger.Application, state pb.YarnApplicationState, final pb.FinalApplicationStatus, diagnostics string,
) {
	soft := as.apps[app.ID]
	if soft != nil {
		as.containers.releaseAll(app)
		as.sched.RemoveApp(soft.handle)
		delete(as.byHandle, soft.handle)
		delete(as.apps, app.ID)
		as.refusals.EndApp(app.ID)
		as.outputs.Ended(app.ID)
		as.inputs.End(app.ID)
	}
	as.Enter(&ledgerpb.Command{ApplicationEnded: &ledgerpb.ApplicationEnded{
		App: ledger.AppRef(app.ID), State: int32(state), FinalStatus: int32(final),
		Diagnostics: diagnostics,
	}})
	as.carried.EndApp(app.ID)
	as.Log.WithField("application", app.ID).WithField("state", app.State).WithField("diagnostics", app.Diagnostics).
		Info("application ended")
	if soft != nil {
		id := app.ID
		as.AfterCommit(func() {
			for node := range soft.nodes {
				if n := as.nodes[node]; n != nil {
					n.session.box.EndApp(id)
				}
			}
		})
	}
	as.forgetOld()
}

// releaseAll gives back what an application's containers hold in the scheduler and has the nodes end them; the ledger's
// own record of it is up to the command that the caller enters.
func (cs *containers) releaseAll(app *ledger.Application) {
	for c := range app.Containers.All() {
		if c.Live() {
			cs.free(c)
			cs.cleanUp(c)
		}
	}
}

// handle has a container know what the scheduler knows it by.
func handle(c *ledger.Container, h scheduler.ContainerHandle) { c.Handle = int64(h) + 1 }

// handleOf is what the scheduler knows a container by, if it does.
func handleOf(c *ledger.Container) (h scheduler.ContainerHandle, ok bool) {
	return scheduler.ContainerHandle(c.Handle - 1), c.Handle > 0
}

// free takes a live container out of the scheduler.
func (cs *containers) free(c *ledger.Container) {
	if h, ok := handleOf(c); ok {
		c.Handle = 0
		cs.sched.Free(h)
	}
}

// freeEnded takes a container out of the scheduler that has ended, with its work done if it says so by its exit status.
func (cs *containers) freeEnded(c *ledger.Container, exit int32) {
	if h, ok := handleOf(c); ok && exit != 0 {
		c.Handle = 0
		cs.sched.Fail(h)
		return
	}
	cs.free(c)
}

// cleanUp has a container's node end it, once that is committed.
func (cs *containers) cleanUp(c *ledger.Container) {
	id, n := c.ID, cs.nodes[c.Node]
	if n == nil {
		return
	}
	cs.AfterCommit(func() { n.session.box.EndContainers(id) })
}

// forgetOld drops the applications that ended longest ago when there are too many.
func (as *applications) forgetOld() {
	ended := len(as.work.Apps) - len(as.apps)
	if ended <= as.Settings.MaxCompleted {
		return
	}
	var oldest []*ledger.Application
	for _, app := range as.work.Apps {
		if app.State.Ended() {
			oldest = append(oldest, app)
		}
	}
	sortByEnd(oldest)
	var refs []*ledgerpb.AppRef
	for _, app := range oldest[:len(oldest)-as.Settings.MaxCompleted] {
		refs = append(refs, ledger.AppRef(app.ID))
	}
	as.Enter(&ledgerpb.Command{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: refs}})
}

// UpdatePriority sets an application's priority for somebody, at most the cluster's maximum, and returns what it became.
func (as *applications) UpdatePriority(id records.ApplicationID, user string, priority int32) (int32, error) {
	err := as.Do(func() error {
		app, err := as.liveApp(id)
		if err != nil {
			return err
		}
		if priority, err = as.priority(id, user, app.Queue, &priority); err != nil {
			return err
		}
		as.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Priority: proto.Int32(priority),
		}})
		as.sched.SetPriority(as.apps[id].handle, app.Priority)
		return nil
	})
	return priority, err
}

// SetExpiry sets the end of an application's lifetime, in ms since 1970, and returns what it became: no later than the
// maximum lifetime of its queue allows (Hadoop: RMAppManager.updateApplicationTimeout).
func (as *applications) SetExpiry(id records.ApplicationID, expires int64) (int64, error) {
	err := as.Do(func() error {
		app, err := as.liveApp(id)
		if err != nil {
			return err
		}
		if q, ok := as.Settings.Queues.Find(app.Queue); ok && q.MaxLifetime > 0 {
			expires = min(expires, app.SubmitTime+1000*q.MaxLifetime)
		}
		as.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Expires: proto.Int64(expires),
		}})
		as.apps[id].inherited = false
		return nil
	})
	return expires, err
}

func (c *core) liveApp(id records.ApplicationID) (*ledger.Application, error) {
	app := c.work.Apps[id]
	if app == nil {
		return nil, refusal.New(refusal.NoSuchApplication, "Application with id '%v' doesn't exist in RM. "+
			"Please check that the job submission was successful.", id)
	}
	if app.State.Ended() {
		return nil, refusal.New(refusal.Refused, "Application %v is in %v state and can't be changed any more", id, app.State)
	}
	return app, nil
}
