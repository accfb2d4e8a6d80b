package leader

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/scheduler"
	"heddle/rm/scheduler/drive"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// appSoft is what the leader alone knows of a live application.
type appSoft struct {
	id      records.ApplicationID
	handle  scheduler.AppHandle
	amAsks  []scheduler.Ask  // for the ApplicationMaster's container
	granted []drive.Decision // that aren't entered yet
	session *amSession       // of the current attempt
	asked   asked
	nodes   map[records.NodeID]bool // that have, or had, containers of it
	// Hosts on which its ApplicationMaster couldn't be launched, those of them that are on its blacklist now, and how many launches in
	// a row nodes have not answered.
	shunned, avoided []string
	misfires         int
	// inherited is that an earlier leadership has set when its lifetime ends.
	inherited bool

	// What the ApplicationMaster is told with its next heartbeat; all of it is committed.
	grants    []Grant
	completed []Completion
	updated   []NodeUpdate
	resized   []Resized
	preempted []records.ContainerID // that it will lose
	warned    int                   // how many of these it was told of already
	// What it was told with the last one, and takes note of by coming again.
	told []records.ContainerID
}

// NewApplication hands out an id, and says how large a container can be.
// Only its user may submit under it.
func (l *Leader) NewApplication(user string) (id records.ApplicationID, maximum records.Resource, err error) {
	err = l.do(func(t *turn) error {
		t.Enter(&ledgerpb.Command{ApplicationIdIssued: &ledgerpb.ApplicationIdIssued{}})
		id = records.ApplicationID{ClusterTimestamp: t.work.Timestamp, ID: t.work.LastApplication}
		t.issued.add(id, user)
		maximum = t.maximum()
		return nil
	})
	return id, maximum, err
}

// Submit takes an application. An application that is known already is left as it is, as clients submit again when they
// didn't hear the answer. One that names an unknown queue is taken, and fails with that reason, as in YARN.
func (l *Leader) Submit(user string, ctx *pb.ApplicationSubmissionContext) error {
	if !ctx.HasApplicationId() {
		return refuse(NoApplicationID, "ApplicationId cannot be null")
	}
	id := records.ApplicationIDFrom(ctx.GetApplicationId())
	if id.ID <= 0 || id.ClusterTimestamp <= 0 {
		return refuse(NoApplicationID, "%v is not an application id", id)
	}
	if err := l.checkSubmission(id, user, ctx); err != nil {
		return err
	}
	if ctx.HasQueue() && ctx.GetQueue() == "" {
		return refuse(Refused, "Failed to place application %v in a queue and submit context queue is null or empty", id)
	}
	path, against, err := l.place(id, user, ctx.GetApplicationName(), queueOf(ctx))
	if err != nil {
		return err
	}
	if !ledger.IsName(path) { // a mapping may have put the application's name into it
		return refuse(Refused, "%v can't be submitted: %.100q can't be a queue, as %s", id, path, notAName)
	}
	if l.Settings.MaySubmit != nil && !l.Settings.MaySubmit(user, path) {
		return refuse(AccessDenied, "User %s does not have permission to submit %v to queue %s", user, id, l.closed(path, queueOf(ctx)))
	}
	return l.do(func(t *turn) error { return t.submit(id, user, path, against, ctx) })
}

// notAName says why a string is no name.
var notAName = fmt.Sprintf("names are UTF-8 of 1 to %d bytes", ledger.MaxName)

// checkSubmission refuses what can't be in the log.
func (l *Leader) checkSubmission(id records.ApplicationID, user string, ctx *pb.ApplicationSubmissionContext) error {
	if !ledger.IsName(user) {
		return refuse(Refused, "%v can't be submitted: %.100q can't be a user, as %s", id, user, notAName)
	}
	if queue := queueOf(ctx); !ledger.IsName(queue) {
		return refuse(Refused, "%v can't be submitted: %.100q can't be a queue, as %s", id, queue, notAName)
	}
	if err := proto.CheckInitialized(ctx); err != nil {
		return refuse(Refused, "%v can't be submitted: %v", id, err)
	}
	most := ledger.MaxCommand - 4*ledger.MaxName
	if limit := l.Settings.MaxSubmission; limit > 0 {
		most = min(most, limit)
	}
	if size := proto.Size(ctx); size > most {
		return refuse(Refused, "%v can't be submitted: its submission context has %d bytes, and may have %d. Put what is large into files "+
			"(local resources), or have the ResourceManager's administrator raise heddle.submission.max-bytes", id, size, most)
	}
	return l.checkTags(ctx.GetApplicationTags())
}

// closed names a queue that a user may not submit to, in YARN's words: as the client did, or by its path where a mapping chose it. A
// FairScheduler names the queue whose lists decide, too.
func (l *Leader) closed(path, asked string) string {
	tree := l.Settings.Live.Tree()
	if tree.Kind == queue.Fair {
		return path + " denied by ACL for queue " + tree.Above(path).Path
	}
	if q, ok := tree.Find(asked); ok && q.Path == path {
		return asked
	}
	return path
}

// checkTags has the words of Hadoop's ApplicationSubmissionContext, to which tags are a set: the same one again doesn't count.
func (l *Leader) checkTags(tags []string) error {
	tags = slices.Compact(slices.Sorted(slices.Values(tags)))
	if most := l.Settings.MaxTags; most > 0 && len(tags) > most {
		return refuse(InvalidTag, "Too many applicationTags, a maximum of only %d are allowed!", most)
	}
	for _, tag := range tags {
		if most := l.Settings.MaxTagLength; most > 0 && utf8.RuneCountInString(tag) > most {
			return refuse(InvalidTag, "Tag %s is too long, maximum allowed length of a tag is %d", tag, most)
		}
		if strings.ContainsFunc(tag, func(r rune) bool { return r > unicode.MaxASCII }) {
			return refuse(InvalidTag, "A tag can only have ASCII characters! Invalid tag - %s", tag)
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
func (t *turn) submit(id records.ApplicationID, user, path, against string, ctx *pb.ApplicationSubmissionContext) error {
	if t.work.Apps[id] != nil {
		return nil
	}
	if to, known := t.issued.of[id]; known && to != user {
		return refuse(AccessDenied, "User %s cannot submit %v, as that id was given to another user. Ask for a new one", user, id)
	}
	asks, err := t.amAsks(ctx, path)
	if err != nil {
		return err
	}
	if against == "" {
		against = t.full(id, user, path)
	}
	var asked *int32
	if ctx.HasPriority() {
		asked = proto.Int32(ctx.GetPriority().GetPriority())
	}
	priority, err := t.priority(id, user, path, asked)
	if err != nil {
		return err
	}
	cmd := &ledgerpb.ApplicationSubmitted{
		App: ledger.AppRef(id), User: user, Queue: path, Context: ctx,
		Priority:    priority,
		MaxAttempts: t.maxAttempts(ctx.GetMaxAppAttempts()),
		AmResource:  ledger.Amounts(amSize(asks)),
	}
	life, err := t.lifetime(path, ctx.GetApplicationTimeouts())
	if err != nil {
		return err
	}
	if life > 0 {
		cmd.Expires = t.Time() + 1000*life
	}
	t.Enter(&ledgerpb.Command{ApplicationSubmitted: cmd})
	t.Log.WithField("application", id).WithField("user", user).WithField("queue", path).Info("application submitted")
	if against != "" {
		t.carry(t.work.Apps[id])
		t.endApp(t.work.Apps[id], pb.YarnApplicationState_FAILED, pb.FinalApplicationStatus_APP_FAILED, against)
		return nil
	}
	t.addApp(t.work.Apps[id], asks)
	t.startAttempt(t.work.Apps[id])
	return nil
}

// lifetime is how long an application may live that asks for some time, in seconds; what isn't above 0 is for ever.
func (t *turn) lifetime(path string, asked []*pb.ApplicationTimeoutMap) (life int64, err error) {
	for _, to := range asked {
		if to.GetApplicationTimeoutType() != pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME {
			continue
		}
		if life = to.GetTimeout(); life <= 0 {
			return 0, refuse(Refused, "Invalid application timeout, value=%d for type=LIFETIME", life)
		}
	}
	if q, ok := t.Settings.Queues.Find(path); ok {
		return q.Lifetime(life), nil
	}
	return life, nil
}

// amAsks turns the request for an ApplicationMaster into asks; an unmanaged one needs no container.
func (t *turn) amAsks(ctx *pb.ApplicationSubmissionContext, path string) ([]scheduler.Ask, error) {
	if ctx.GetUnmanagedAm() {
		return nil, nil
	}
	rows, err := t.amRequest(ctx)
	if err != nil {
		return nil, err
	}
	maximum := t.maximumIn(path)
	var asks []scheduler.Ask
	for _, row := range rows {
		capability, err := t.fromPB(row.GetCapability())
		if err == nil {
			capability, err = t.normalize(capability, maximum)
		}
		if err != nil {
			return nil, err
		}
		asks = append(asks, scheduler.Ask{
			Name: row.GetResourceName(), Count: 1, RelaxLocality: row.GetRelaxLocality(), Capability: capability,
			AllocationRequestID: -1, ExecutionType: pb.ExecutionType_GUARANTEED,
		})
	}
	return asks, nil
}

func amSize(asks []scheduler.Ask) records.Resource {
	for _, a := range asks {
		if a.Name == scheduler.Any {
			return a.Capability
		}
	}
	return records.Resource{}
}

// priority is what the cluster makes of the priority that an application asks for. Of YARN's schedulers only the
// priority is the priority of an application of a user in a queue that asks for one, or for none. Only capacity queues have any.
func (l *Leader) priority(id records.ApplicationID, user, path string, asked *int32) (int32, error) {
	if l.Settings.Queues.Kind != queue.Capacity {
		return 0, nil
	}
	q, ok := l.Settings.Queues.Find(path)
	if !ok {
		q = &queue.Queue{} // which says nothing of priorities
	}
	p, may := q.PriorityOf(user, asked, l.Settings.MaxPriority, l.Settings.ACLs, l.Settings.Groups)
	if !may {
		return 0, refuse(Refused, "org.apache.hadoop.security.AccessControlException: User %s (auth:SIMPLE) does not have permission to "+
			"submit/update %v for %d", user, id, p)
	}
	return p, nil
}

func (t *turn) maxAttempts(asked int32) int32 {
	switch {
	case asked <= 0:
		return t.Settings.MaxAttempts
	case asked > t.Settings.GlobalMaxAttempts:
		return t.Settings.GlobalMaxAttempts
	}
	return asked
}

func (t *turn) addApp(app *ledger.Application, asks []scheduler.Ask) *appSoft {
	t.seq++
	a := &appSoft{
		id: app.ID, amAsks: asks, asked: asked{}, nodes: map[records.NodeID]bool{},
		handle: t.sched.AddApp(drive.AppSpec{
			AppSpec: scheduler.AppSpec{Priority: app.Priority, Seq: t.seq, Queue: app.Queue, User: app.User, AM: amSize(asks)},
			ID:      app.ID, SpareMaster: app.Context.GetUnmanagedAm(),
		}),
	}
	t.apps[app.ID] = a
	t.byHandle[a.handle] = a
	t.carry(app)
	return a
}

// Kill ends an application. It reports that it has ended; only an unknown one is refused.
func (l *Leader) Kill(id records.ApplicationID, diagnostics string) error {
	return l.do(func(t *turn) error {
		app := t.work.Apps[id]
		if app == nil {
			return refuse(NoSuchApplication, "Trying to kill an absent application %v", id)
		}
		if !app.State.Ended() {
			t.kill(app, diagnostics)
		}
		return nil
	})
}

func (t *turn) kill(app *ledger.Application, diagnostics string) {
	if attempt := app.Current(); attempt != nil && !attempt.State.Ended() {
		t.stopAM(app, attempt)
		t.endAttempt(app, attempt, attemptEnd{
			state: pb.YarnApplicationAttemptState_APP_ATTEMPT_KILLED, diagnostics: diagnostics,
			exit: records.ExitKilledByResourceManager,
		})
	}
	t.endApp(app, pb.YarnApplicationState_KILLED, pb.FinalApplicationStatus_APP_KILLED, diagnostics)
}

// endApp ends an application whose last attempt has ended, and cleans up behind it.
func (t *turn) endApp(
	app *ledger.Application, state pb.YarnApplicationState, final pb.FinalApplicationStatus, diagnostics string,
) {
	soft := t.apps[app.ID]
	if soft != nil {
		t.releaseAll(app)
		t.sched.RemoveApp(soft.handle)
		delete(t.byHandle, soft.handle)
		delete(t.apps, app.ID)
		t.refusals.drop(app.ID)
	}
	t.Enter(&ledgerpb.Command{ApplicationEnded: &ledgerpb.ApplicationEnded{
		App: ledger.AppRef(app.ID), State: int32(state), FinalStatus: int32(final),
		Diagnostics: diagnostics,
	}})
	t.dropTokens(app.ID)
	t.Log.WithField("application", app.ID).WithField("state", app.State).WithField("diagnostics", app.Diagnostics).
		Info("application ended")
	if soft != nil {
		id := app.ID
		t.AfterCommit(func() {
			for node := range soft.nodes {
				if n := t.nodes[node]; n != nil {
					n.session.endApp(id)
				}
			}
		})
	}
	t.forgetOld()
}

// releaseAll gives back what an application's containers hold in the scheduler and has the nodes end them; the ledger's
// own record of it is up to the command that the caller enters.
func (t *turn) releaseAll(app *ledger.Application) {
	for c := range app.Containers.All() {
		if c.Live() {
			t.free(c)
			t.cleanUp(c)
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
func (t *turn) free(c *ledger.Container) {
	if h, ok := handleOf(c); ok {
		c.Handle = 0
		t.sched.Free(h)
	}
}

// cleanUp has a container's node end it, once that is committed.
func (t *turn) cleanUp(c *ledger.Container) {
	id, n := c.ID, t.nodes[c.Node]
	if n == nil {
		return
	}
	t.AfterCommit(func() { n.session.endContainer(id) })
}

// forgetOld drops the applications that ended longest ago when there are too many.
func (t *turn) forgetOld() {
	ended := len(t.work.Apps) - len(t.apps)
	if ended <= t.Settings.MaxCompleted {
		return
	}
	var oldest []*ledger.Application
	for _, app := range t.work.Apps {
		if app.State.Ended() {
			oldest = append(oldest, app)
		}
	}
	sortByEnd(oldest)
	var refs []*ledgerpb.AppRef
	for _, app := range oldest[:len(oldest)-t.Settings.MaxCompleted] {
		refs = append(refs, ledger.AppRef(app.ID))
	}
	t.Enter(&ledgerpb.Command{ApplicationsForgotten: &ledgerpb.ApplicationsForgotten{Apps: refs}})
}

// UpdatePriority sets an application's priority for somebody, at most the cluster's maximum, and returns what it became.
func (l *Leader) UpdatePriority(id records.ApplicationID, user string, priority int32) (int32, error) {
	err := l.do(func(t *turn) error {
		app, err := t.liveApp(id)
		if err != nil {
			return err
		}
		if priority, err = t.priority(id, user, app.Queue, &priority); err != nil {
			return err
		}
		t.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Priority: proto.Int32(priority),
		}})
		t.sched.SetPriority(t.apps[id].handle, app.Priority)
		return nil
	})
	return priority, err
}

// SetExpiry sets the end of an application's lifetime, in ms since 1970, and returns what it became: no later than the
// maximum lifetime of its queue allows (Hadoop: RMAppManager.updateApplicationTimeout).
func (l *Leader) SetExpiry(id records.ApplicationID, expires int64) (int64, error) {
	err := l.do(func(t *turn) error {
		app, err := t.liveApp(id)
		if err != nil {
			return err
		}
		if q, ok := t.Settings.Queues.Find(app.Queue); ok && q.MaxLifetime > 0 {
			expires = min(expires, app.SubmitTime+1000*q.MaxLifetime)
		}
		t.Enter(&ledgerpb.Command{ApplicationUpdated: &ledgerpb.ApplicationUpdated{
			App: ledger.AppRef(id), Expires: proto.Int64(expires),
		}})
		t.apps[id].inherited = false
		return nil
	})
	return expires, err
}

func (t *turn) liveApp(id records.ApplicationID) (*ledger.Application, error) {
	app := t.work.Apps[id]
	if app == nil {
		return nil, refuse(NoSuchApplication, "Application with id '%v' doesn't exist in RM. "+
			"Please check that the job submission was successful.", id)
	}
	if app.State.Ended() {
		return nil, refuse(Refused, "Application %v is in %v state and can't be changed any more", id, app.State)
	}
	return app, nil
}
