package timelineservice

import (
	"cmp"
	"slices"

	"heddle/rm/leader/request"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/view"
	"heddle/rm/view/past"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Follower makes entities of the batches that a ledger applies. Its methods are called with the ledger's lock held.
type Follower struct {
	view     *view.Viewer
	settings *Settings
	tell     func([]entity, *ledger.State)
}

// Change holds a batch, and the containers that it may end.
type Change struct {
	now   int64
	batch *ledgerpb.Batch
	ends  []end
	ahead []records.AttemptID // attempts whose ApplicationMasters register before their node's answer that it started them
}

// end is a container that the batch ends or may end.
type end struct {
	container  ledger.Container
	exit       int32
	diagnostic string
}

// Before notes what a batch is about to end, as the ledger has it no longer afterwards.
func (f *Follower) Before(b *ledgerpb.Batch, s *ledger.State) *Change {
	c := &Change{now: b.GetTime(), batch: b}
	var started []records.AttemptID
	for _, cmd := range b.GetCommands() {
		switch {
		case cmd.AttemptLaunched != nil:
			started = append(started, attemptID(cmd.AttemptLaunched.GetAttempt()))
		case cmd.AttemptRegistered != nil:
			if _, t := attempt(s, cmd.AttemptRegistered.GetAttempt()); t != nil && t.State < ledger.AttemptLaunched && !slices.Contains(started, t.ID) {
				c.ahead = append(c.ahead, t.ID)
			}
		case cmd.ContainersCompleted != nil:
			for _, done := range cmd.ContainersCompleted.GetCompletions() {
				if x := s.Container(containerID(done.GetContainer())); x != nil && x.Live() {
					c.ends = append(c.ends, end{*x, done.GetExitStatus(), done.GetDiagnostics()})
				}
			}
		case cmd.AttemptEnded != nil:
			keeps := cmd.AttemptEnded.GetKeepContainers()
			c.living(s.Apps[appID(cmd.AttemptEnded.GetAttempt().GetApp())], func(x *ledger.Container) bool { return x.AM || !keeps })
		case cmd.ApplicationEnded != nil:
			c.living(s.Apps[appID(cmd.ApplicationEnded.GetApp())], func(*ledger.Container) bool { return true })
		}
	}
	return c
}

// living adds live containers that end with their attempt or application.
func (c *Change) living(a *ledger.Application, ends func(*ledger.Container) bool) {
	if a == nil {
		return
	}
	for x := range a.Containers.All() {
		if x.Live() && ends(x) && !slices.ContainsFunc(c.ends, func(e end) bool { return e.container.ID == x.ID }) {
			c.ends = append(c.ends, end{*x, records.ExitKilledByResourceManager, ""})
		}
	}
}

// After publishes what a batch has changed.
func (f *Follower) After(c *Change, s *ledger.State) {
	var out []entity
	for _, cmd := range c.batch.GetCommands() {
		if r := cmd.AttemptRegistered; r != nil && slices.Contains(c.ahead, attemptID(r.GetAttempt())) {
			if a, _ := attempt(s, r.GetAttempt()); a != nil {
				out = append(out, launched(a))
			}
		}
		out = append(out, f.of(cmd, c.now, s)...)
	}
	var ended []entity
	for _, e := range c.ends {
		if x := s.Container(e.container.ID); (x == nil || !x.Live()) && (f.settings.containers() || e.container.AM) {
			ended = append(ended, finished(&e.container, e.exit, e.diagnostic, c.now))
		}
	}
	if out = append(ended, out...); len(out) > 0 {
		f.tell(out, s)
	}
}

// of returns the entities of a command that was applied.
func (f *Follower) of(c *ledgerpb.Command, now int64, s *ledger.State) []entity {
	switch {
	case c.ContainersAllocated != nil:
		return f.granted(c.ContainersAllocated, s)
	case c.ApplicationSubmitted != nil:
		if a := s.Apps[appID(c.ApplicationSubmitted.GetApp())]; a != nil {
			return f.created(a, a.Context)
		}
	case c.ApplicationUpdated != nil:
		u := c.ApplicationUpdated
		if a := s.Apps[appID(u.GetApp())]; a != nil && (u.Queue != nil || u.Priority != nil) {
			return []entity{ofApp(a.ID).at(now, "YARN_APPLICATION_UPDATED", info{"YARN_APPLICATION_QUEUE": a.Queue, "YARN_APPLICATION_PRIORITY": a.Priority})}
		}
	case c.AttemptLaunched != nil:
		if a := s.Apps[appID(c.AttemptLaunched.GetAttempt().GetApp())]; a != nil {
			return []entity{launched(a)}
		}
	case c.AttemptRegistered != nil:
		if a, t := attempt(s, c.AttemptRegistered.GetAttempt()); t != nil {
			return f.registered(a, t)
		}
	case c.AttemptEnded != nil:
		if a, t := attempt(s, c.AttemptEnded.GetAttempt()); t != nil {
			return []entity{f.attemptEnded(a, t)}
		}
	case c.ApplicationEnded != nil:
		if a := s.Apps[appID(c.ApplicationEnded.GetApp())]; a != nil {
			return []entity{ended(a)}
		}
	case c.LeaderStarted != nil:
		return f.again(now, s)
	}
	return nil
}

// recently is how long before the start of a leadership an application may have ended so that its end is published again, ms. The leader before may have
// died with what it hadn't sent yet.
const recently = 10 * 60 * 1000

// again returns what the leader before may have failed to send. A server that has it already joins both.
func (f *Follower) again(now int64, s *ledger.State) (out []entity) {
	for _, a := range s.Apps {
		if a.State.Ended() && a.FinishTime < now-recently {
			continue
		}
		out = append(out, f.whole(a)...)
	}
	return out
}

// whole returns all that is known of an application.
func (f *Follower) whole(a *ledger.Application) (out []entity) {
	out = f.course(a)
	for x := range a.Past.All() {
		out = append(out, f.life(x)...)
	}
	for x := range a.Containers.All() {
		out = append(out, f.life(x)...)
	}
	if a.State.Ended() {
		out = append(out, ended(a))
	}
	return out
}

// course returns what is known of an application and its attempts, but for its end.
func (f *Follower) course(a *ledger.Application) (out []entity) {
	out = append(out, f.created(a, a.Context)...)
	if a.LaunchTime > 0 {
		out = append(out, launched(a))
	}
	for _, t := range a.Attempts {
		if t.RegisterTime > 0 {
			out = append(out, f.registered(a, t)...)
		}
		if t.State.Ended() {
			out = append(out, f.attemptEnded(a, t))
		}
	}
	return out
}

// life tells of a container's grant and, if it has ended, of its end.
func (f *Follower) life(x *ledger.Container) []entity {
	switch {
	case !f.settings.containers() && !x.AM:
		return nil
	case x.Live():
		return []entity{f.allocated(x)}
	}
	return []entity{f.allocated(x), finished(x, x.ExitStatus, x.Diagnostic, x.Finished)}
}

// created tells of a submitted application, and who may see it.
func (f *Follower) created(a *ledger.Application, ctx *pb.ApplicationSubmissionContext) []entity {
	e := ofApp(a.ID)
	e.Info = info{
		"YARN_APPLICATION_NAME": ctx.GetApplicationName(), "YARN_APPLICATION_TYPE": view.TypeName(ctx), "YARN_APPLICATION_USER": a.User,
		"YARN_APPLICATION_QUEUE": a.Queue, "YARN_APPLICATION_SUBMITTED_TIME": a.SubmitTime, "YARN_APPLICATION_TAGS": orNone(f.view.Tags(ctx)),
		"YARN_APPLICATION_UNMANAGED_APPLICATION": ctx.GetUnmanagedAm(), "YARN_APPLICATION_PRIORITY": a.Priority,
		"YARN_AM_NODE_LABEL_EXPRESSION": masterLabel(ctx), "YARN_APP_NODE_LABEL_EXPRESSION": request.ShownLabel(ctx),
	}
	if !a.State.Ended() { // the ledger keeps no commands of ended ones, and the server has them
		e.Info["YARN_AM_CONTAINER_LAUNCH_COMMAND"] = orNone(ctx.GetAmContainerSpec().GetCommand())
		e.Info["YARN_APPLICATION_STATE"] = "NEW_SAVING"
	}
	acls := ofApp(a.ID).at(a.SubmitTime, "YARN_APPLICATION_ACLS_UPDATED", nil)
	acls.Info = info{"YARN_APPLICATION_VIEW_ACLS": viewers(ctx)}
	return []entity{e.at(a.SubmitTime, "YARN_APPLICATION_CREATED", nil), acls}
}

// viewers are the users and groups who may see an application, besides its owner.
func viewers(ctx *pb.ApplicationSubmissionContext) string {
	for _, list := range ctx.GetAmContainerSpec().GetApplication_ACLs() {
		if list.GetAccessType() == pb.ApplicationAccessType_APPACCESS_VIEW_APP {
			return list.GetAcl()
		}
	}
	return ""
}

// masterLabel returns the label of the ApplicationMaster's container as YARN's ResourceManager words it; an unmanaged one has none.
func masterLabel(ctx *pb.ApplicationSubmissionContext) string {
	if ctx.GetUnmanagedAm() {
		return request.NoLabel
	}
	return cmp.Or(request.NotedLabel(ctx), request.DefaultPartition)
}

func launched(a *ledger.Application) entity {
	return ofApp(a.ID).at(a.LaunchTime, "YARN_APPLICATION_LAUNCHED", nil)
}

func state(id records.ApplicationID, at int64, name string) entity {
	return ofApp(id).at(at, "YARN_APPLICATION_STATE_UPDATED", info{"YARN_APPLICATION_STATE": name})
}

func (f *Follower) registered(a *ledger.Application, t *ledger.Attempt) []entity {
	about := info{"YARN_APPLICATION_ATTEMPT_HOST": t.Host, "YARN_APPLICATION_ATTEMPT_RPC_PORT": t.RPCPort}
	f.addresses(about, a, t)
	e := ofAttempt(t.ID)
	e.more = f.places(a, t)
	return []entity{
		state(a.ID, t.RegisterTime, "RUNNING"),
		e.at(t.RegisterTime, "YARN_APPLICATION_ATTEMPT_REGISTERED", about),
	}
}

// addresses adds where an attempt's pages are, and its container.
func (f *Follower) addresses(about info, a *ledger.Application, t *ledger.Attempt) {
	url, original := f.view.TrackingURLs(a, t)
	if own := f.view.PageURL(a.ID); original == own && f.settings.pages != "" { // the server has the page for longer
		url, original = f.settings.pages+a.ID.String(), f.settings.pages+a.ID.String()
	}
	about["YARN_APPLICATION_ATTEMPT_TRACKING_URL"], about["YARN_APPLICATION_ATTEMPT_ORIGINAL_TRACKING_URL"] = url, original
	if t.AMContainer.ID != 0 {
		about["YARN_APPLICATION_ATTEMPT_MASTER_CONTAINER"] = t.AMContainer.String()
	}
}

// places returns the addresses that version 2 has of an attempt.
func (f *Follower) places(a *ledger.Application, t *ledger.Attempt) info {
	url, original := f.view.TrackingURLs(a, t)
	out := info{"YARN_APPLICATION_ATTEMPT_TRACKING_URL": url, "YARN_APPLICATION_ATTEMPT_ORIGINAL_TRACKING_URL": original}
	if x := a.Containers.Get(t.AMContainer); x != nil && t.AMContainer.ID != 0 {
		out["YARN_APPLICATION_ATTEMPT_MASTER_NODE_ID"] = x.Node.String()
		if at := x.NodeHTTPAddress(); at != "" {
			out["YARN_APPLICATION_ATTEMPT_MASTER_NODE_ADDRESS"] = at
		}
	}
	return out
}

func (f *Follower) attemptEnded(a *ledger.Application, t *ledger.Attempt) entity {
	about := info{
		"YARN_APPLICATION_ATTEMPT_DIAGNOSTICS_INFO": t.Diagnostics, "YARN_APPLICATION_ATTEMPT_FINAL_STATUS": records.FinalStatusName(t.FinalStatus),
		"YARN_APPLICATION_ATTEMPT_STATE": records.AttemptStateName(t.State.Public()),
	}
	f.addresses(about, a, t)
	return ofAttempt(t.ID).at(t.FinishTime, "YARN_APPLICATION_ATTEMPT_FINISHED", about)
}

func ended(a *ledger.Application) entity {
	e := ofApp(a.ID)
	e.Info = info{
		"YARN_APPLICATION_CPU": a.ResourceSeconds.VCores(), "YARN_APPLICATION_MEMORY": a.ResourceSeconds.MemoryMB(),
		"YARN_APPLICATION_MEM_PREEMPT_METRIC": a.PreemptedSeconds.MemoryMB(), "YARN_APPLICATION_CPU_PREEMPT_METRIC": a.PreemptedSeconds.VCores(),
	}
	e.more = info{
		"YARN_APPLICATION_RESOURCE_PREEMPTED_CPU": a.Preempted.VCores(), "YARN_APPLICATION_RESOURCE_PREEMPTED_MEMORY": a.Preempted.MemoryMB(),
		"YARN_APPLICATION_NON_AM_CONTAINER_PREEMPTED": a.PreemptedContainers, "YARN_APPLICATION_AM_CONTAINER_PREEMPTED": a.PreemptedAMs,
	}
	about := info{
		"YARN_APPLICATION_DIAGNOSTICS_INFO": a.Diagnostics, "YARN_APPLICATION_FINAL_STATUS": records.FinalStatusName(a.FinalStatus),
		"YARN_APPLICATION_STATE": a.State.Public().String(),
	}
	if t := a.Current(); t != nil {
		about["YARN_APPLICATION_LATEST_APP_ATTEMPT"] = t.ID.String()
	}
	return e.at(a.FinishTime, "YARN_APPLICATION_FINISHED", about)
}

func (f *Follower) granted(c *ledgerpb.ContainersAllocated, s *ledger.State) (out []entity) {
	for _, g := range c.GetGrants() {
		if !f.settings.containers() && !g.GetAm() {
			continue
		}
		if x := s.Container(records.ContainerID{Attempt: attemptID(c.GetAttempt()), ID: g.GetId()}); x != nil {
			out = append(out, f.allocated(x))
		}
	}
	return out
}

func (f *Follower) allocated(x *ledger.Container) entity {
	e := ofContainer(x.ID)
	e.task = !x.AM
	e.Info = info{
		"YARN_CONTAINER_ALLOCATED_MEMORY": x.Resource.MemoryMB(), "YARN_CONTAINER_ALLOCATED_VCORE": x.Resource.VCores(),
		"YARN_CONTAINER_ALLOCATED_HOST": x.Node.Host, "YARN_CONTAINER_ALLOCATED_PORT": x.Node.Port,
		"YARN_CONTAINER_ALLOCATED_PRIORITY": x.Priority,
	}
	if a := x.NodeHTTPAddress(); a != "" { // unknown once it has ended
		e.Info["YARN_CONTAINER_ALLOCATED_HOST_HTTP_ADDRESS"] = f.view.URL(a)
	}
	return e.at(x.Allocated, "YARN_CONTAINER_CREATED", nil)
}

// finished tells of a container's end.
func finished(x *ledger.Container, exit int32, diagnostics string, at int64) entity {
	exit, diagnostics = past.Aborted(exit, diagnostics)
	e := ofContainer(x.ID)
	e.task = !x.AM
	e.Info = info{"YARN_CONTAINER_ALLOCATED_HOST": x.Node.Host, "YARN_CONTAINER_ALLOCATED_PORT": x.Node.Port}
	return e.at(at, "YARN_CONTAINER_FINISHED", info{
		"YARN_CONTAINER_DIAGNOSTICS_INFO": diagnostics, "YARN_CONTAINER_EXIT_STATUS": exit, "YARN_CONTAINER_STATE": "COMPLETE",
	})
}

// orNone returns a list that is [] in JSON if it is empty.
func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func attempt(s *ledger.State, r *ledgerpb.AttemptRef) (*ledger.Application, *ledger.Attempt) {
	id := attemptID(r)
	a := s.Apps[id.App]
	if a == nil {
		return nil, nil
	}
	return a, a.Attempt(id.Attempt)
}

func appID(r *ledgerpb.AppRef) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: r.GetTimestamp(), ID: r.GetId()}
}

func attemptID(r *ledgerpb.AttemptRef) records.AttemptID {
	return records.AttemptID{App: appID(r.GetApp()), Attempt: r.GetAttempt()}
}

func containerID(r *ledgerpb.ContainerRef) records.ContainerID {
	return records.ContainerID{Attempt: attemptID(r.GetAttempt()), ID: r.GetId()}
}
