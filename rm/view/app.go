package view

import (
	"slices"
	"strings"
	"time"

	"heddle/rm/access"
	"heddle/rm/leader"
	"heddle/rm/leader/level"
	"heddle/rm/leader/report"
	"heddle/rm/leader/request"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/queue"
	"heddle/rm/queue/template"
	"heddle/rm/scheduler"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// App is an application as views show it. Times are in ms since 1970, 0 = not yet; durations in ms.
type App struct {
	ID          records.ApplicationID
	User        string
	Name        string
	Queue       string // full path
	Type        string
	Tags        []string
	Priority    int32
	Unmanaged   bool
	State       ledger.AppState
	FinalStatus pb.FinalApplicationStatus
	Diagnostics string
	Progress    float32 // 0 to 1

	SubmitTime int64
	LaunchTime int64
	FinishTime int64
	Elapsed    int64
	Expires    int64 // end of its lifetime, 0 = none

	Attempt             records.AttemptID // current; number 0 before the first
	AMContainer         records.ContainerID
	AMResource          records.Resource // size of its ApplicationMaster's container
	AMNode              records.NodeID
	AMHTTPAddress       string // of the node, host:port
	Host                string
	RPCPort             int32
	TrackingURL         string // where users are sent: the proxy while it leads somewhere, else the application's page
	OriginalTrackingURL string // what the ApplicationMaster gave, "N/A" if nothing; the application's page if the attempt failed

	Used           records.Resource
	Cluster        records.Resource // the cluster's total
	Partition      records.Resource // that of the nodes with its ApplicationMaster's label, among those of the cluster
	QueueShare     records.Resource // present fair share of its queue, in a Fair tree; zero if unknown
	Containers     int
	LogAggregation pb.LogAggregationStatus
	Context        *pb.ApplicationSubmissionContext // as submitted; not to be changed

	ResourceSeconds     records.Resource // of ended and live containers
	Preempted           records.Resource // what its preempted containers held
	PreemptedSeconds    records.Resource
	PreemptedContainers int64
	PreemptedAMs        int64

	// Hidden says that the caller may not see what the application uses.
	Hidden bool

	Reserved report.Reserved // reservations of the application; not part of Used
	Refused  string          // where and why its containers can't start, "" if they can

	Suspended []Suspended // its containers that are suspended or shrunk, without what their nodes say of them

	// Fields that only the leader knows, of a live application; see AddAsks.
	Pending  records.Resource // asked for, and not yet granted
	Waiting  int64            // containers asked for and not yet granted
	Uses     []scheduler.Use  // by partition; nil: there is but one
	Asks     []scheduler.Ask
	Excluded []string // hosts and racks that it has blacklisted
}

// Rights returns what decides who may see and change an application.
func (a *App) Rights() access.Application {
	return access.Application{User: a.User, Queue: a.Queue, Context: a.Context}
}

// maxType is the number of characters of an application type that are shown.
const maxType = 20

// soft is the soft state (not in the ledger) that views of applications need.
type soft struct {
	leader *leader.Leader              // nil if another member leads
	shares map[string]records.Resource // fair shares of queues by path
	sizes  map[string]records.Resource // of partitions by label; nil: there is but one

	underWay map[records.ContainerID]level.UnderWay
}

// soft asks the leader. Don't call it while reading the ledger.
func (v *Viewer) soft() soft {
	var by soft
	if v.Labelled {
		by.sizes = map[string]records.Resource{}
		for _, label := range LabelsOf(v).All() {
			by.sizes[label.Name] = label.Size
		}
	}
	if l := v.Source.Leader(); l != nil {
		by.leader, by.shares, by.underWay = l, l.FairShares(), l.Levels().UnderWay()
	}
	return by
}

// sizeOf returns that of the partition of a label in a cluster of some size.
func (s *soft) sizeOf(label string, cluster records.Resource) records.Resource {
	if s.sizes == nil {
		return cluster
	}
	return s.sizes[label]
}

func (v *Viewer) app(a *ledger.Application, by soft, total records.Resource) App {
	now := v.Now().UnixMilli()
	app := App{
		ID: a.ID, User: a.User, Name: a.Context.GetApplicationName(), Queue: shownQueue(a),
		Type: TypeName(a.Context), Tags: v.Tags(a.Context),
		Priority: a.Priority, Unmanaged: a.Context.GetUnmanagedAm(), State: a.State, FinalStatus: a.FinalStatus,
		Diagnostics: a.Diagnostics, SubmitTime: a.SubmitTime, LaunchTime: a.LaunchTime, FinishTime: a.FinishTime,
		Elapsed: max(now-a.SubmitTime, 0), Expires: a.Expires, Host: "N/A", RPCPort: -1, OriginalTrackingURL: "N/A",
		Used: a.Used, Cluster: total, QueueShare: by.shares[a.Queue], Containers: a.Live, LogAggregation: a.LogAggregation, Context: a.Context, AMResource: a.AMResource,
		ResourceSeconds: a.ResourceSeconds, PreemptedSeconds: a.PreemptedSeconds,
		Preempted:           a.Preempted,
		PreemptedContainers: a.PreemptedContainers, PreemptedAMs: a.PreemptedAMs,
	}
	if by.leader != nil && !a.State.Ended() {
		app.Reserved, app.Refused = by.leader.Reserved()[a.ID], by.leader.RefusedStarts(a.ID)
	}
	if a.FinishTime > 0 {
		app.Elapsed = a.FinishTime - a.SubmitTime
	}
	if v.NoLogs {
		app.LogAggregation = pb.LogAggregationStatus_LOG_DISABLED
	}
	for c := range a.Containers.All() {
		if c.Live() {
			app.ResourceSeconds = app.ResourceSeconds.Add(ledger.ResourceSeconds(c, now))
			u, underWay := by.underWay[c.ID]
			if c.Level == ledgerpb.Level_RUNNING && !underWay {
				continue
			}
			offered, free := c.Room()
			x := suspended(Container{Container: *c, User: a.User, offered: offered, free: free})
			if underWay {
				x.UnderWay = &u
			}
			app.Suspended = append(app.Suspended, x)
		}
	}
	app.Partition = by.sizeOf(app.MasterLabel(), total)
	if t := a.Current(); t != nil {
		v.attemptOf(&app, a, t, by.leader)
	}
	app.TrackingURL, app.OriginalTrackingURL = v.TrackingURLs(a, a.Current())
	return app
}

// shownQueue returns the queue in which an application is shown: as in YARN the reservable one that was named, and not its leaf
// (Hadoop: CapacityScheduler.resolveReservationQueueName).
func shownQueue(a *ledger.Application) string {
	dot := max(strings.LastIndexByte(a.Queue, '.'), 0)
	above, leaf := a.Queue[:dot], a.Queue[dot:]
	name := above[strings.LastIndexByte(above, '.')+1:]
	if named := a.Context.GetQueue(); leaf == "."+template.PlanLeaf(name) && (named == name || named == above) {
		return above
	}
	return a.Queue
}

// attemptOf fills in the fields that depend on the current attempt.
func (v *Viewer) attemptOf(app *App, a *ledger.Application, t *ledger.Attempt, l *leader.Leader) {
	app.Attempt, app.AMContainer = t.ID, t.AMContainer
	app.AMNode, app.AMHTTPAddress = t.AMNode, t.AMHTTPAddress
	app.Host, app.RPCPort = address(t)
	switch {
	case t.State == ledger.AttemptFinished, t.State == ledger.AttemptKilled && t.LaunchTime > 0:
		app.Progress = 1
	case l != nil && !t.State.Ended():
		app.Progress = l.Progress(t.ID)
	}
	if app.Unmanaged {
		app.LaunchTime = -1 // it wasn't launched
	}
	if a.State == ledger.AppAccepted && app.Diagnostics == "" {
		app.Diagnostics = diagnostics(t)
	}
}

// launched is YARN's diagnostics of an attempt that hasn't been heard from yet.
const launched = "AM container is launched, waiting for AM container to Register with RM"

// diagnostics returns an attempt's diagnostics.
func diagnostics(t *ledger.Attempt) string {
	if t.Diagnostics == "" && t.LaunchTime > 0 && t.RegisterTime == 0 {
		return launched
	}
	return t.Diagnostics
}

// address returns where an attempt's ApplicationMaster listens; empty again once the attempt has failed.
func address(t *ledger.Attempt) (host string, port int32) {
	if t.RegisterTime == 0 || t.State == ledger.AttemptFailed || t.State == ledger.AttemptKilled {
		return "N/A", -1
	}
	return t.Host, t.RPCPort
}

// TrackingURLs returns where users are sent, and what the ApplicationMaster gave. As in Hadoop, users are sent through the proxy. If
// the attempt failed, they are sent to the application's page, because nothing else is left. There may be no attempt.
func (v *Viewer) TrackingURLs(a *ledger.Application, t *ledger.Attempt) (url, original string) {
	switch {
	case t == nil:
		return v.ProxyURL(a.ID), "N/A"
	case t.State == ledger.AttemptFailed, t.State == ledger.AttemptKilled:
		return v.PageURL(a.ID), v.PageURL(a.ID)
	}
	original = t.TrackingURL
	if original == "" {
		original = "N/A"
	}
	if a.Context.GetUnmanagedAm() {
		return original, original
	}
	return v.ProxyURL(a.ID), original
}

// TypeName returns the type of an application as YARN shows it: its first 20 characters.
func TypeName(ctx *pb.ApplicationSubmissionContext) string {
	name := ctx.GetApplicationType()
	if r := []rune(name); len(r) > maxType {
		return string(r[:maxType])
	}
	return name
}

// Tags returns an application's tags sorted, and in lower case unless the configuration says otherwise, as Hadoop keeps them.
func (v *Viewer) Tags(ctx *pb.ApplicationSubmissionContext) []string {
	var out []string
	for _, t := range ctx.GetApplicationTags() {
		if !v.KeepTagCase {
			t = strings.ToLower(t)
		}
		out = append(out, t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// App returns an application; ok is false if it doesn't exist.
func (v *Viewer) App(id records.ApplicationID) (app App, ok bool) {
	by := v.soft()
	v.Source.Read(func(s *ledger.State) {
		if a := s.Apps[id]; a != nil {
			app, ok = v.app(a, by, s.Capacity()), true
		}
	})
	return app, ok
}

// AddAsks fills in what only the leader knows of applications, in one step of its loop. A follower leaves them unchanged.
func (v *Viewer) AddAsks(apps []App) {
	l := v.Source.Leader()
	var live []records.ApplicationID
	for i := range apps {
		if !apps[i].State.Ended() {
			live = append(live, apps[i].ID)
		}
	}
	if l == nil || len(live) == 0 {
		return
	}
	soft := l.Apps(live)
	for i := range apps {
		if s, ok := soft[apps[i].ID]; ok {
			apps[i].Pending, apps[i].Waiting, apps[i].Asks, apps[i].Excluded = s.Pending, s.Waiting, s.Asks, s.Black
			apps[i].Uses = s.Uses
		}
	}
}

// MasterLabel returns the label of the nodes among which the ApplicationMaster of an application counts.
func (a *App) MasterLabel() string {
	if a.Unmanaged {
		return ""
	}
	for i := range a.Uses {
		if a.Uses[i].Master {
			return a.Uses[i].Label
		}
	}
	return request.NotedLabel(a.Context)
}

// FairlyOrdered reports whether the policy fair has ordered an application in its leaf (Hadoop: AbstractComparatorOrderingPolicy.updateSchedulingResourceUsage).
func (a *App) FairlyOrdered(tree *queue.Tree) bool {
	q, known := tree.Find(a.Queue)
	return known && q.OrderingPolicy == "fair" && (!a.Used.IsZero() || q.SizeBasedWeight && len(a.Asks) > 0)
}

// Filter selects applications. Empty fields admit everything.
type Filter struct {
	Types         []string // any of them, case-insensitive
	States        []pb.YarnApplicationState
	FinalStatuses []pb.FinalApplicationStatus
	Users         []string
	Queues        []string // full paths: of the application's own queue or, while it lives, of an ancestor
	Tags          []string // any of them
	Name          *string  // nil is any
	Started       Range
	Finished      Range
	Limit         int64 // the newest ones; 0 = all
}

// Range is a closed interval of time in ms since 1970; a bound of 0 is none.
type Range struct{ Begin, End int64 }

func (r Range) admits(ms int64) bool {
	return (r.Begin == 0 || ms >= r.Begin) && (r.End == 0 || ms <= r.End)
}

func (f *Filter) admits(a *ledger.Application) bool {
	in := func(list []string, ok func(string) bool) bool { return len(list) == 0 || slices.ContainsFunc(list, ok) }
	return in(f.Types, func(t string) bool { return strings.EqualFold(t, TypeName(a.Context)) }) &&
		(len(f.States) == 0 || slices.Contains(f.States, a.State.Public())) &&
		(len(f.FinalStatuses) == 0 || slices.Contains(f.FinalStatuses, a.FinalStatus)) &&
		in(f.Users, func(u string) bool { return u == a.User }) &&
		in(f.Queues, func(q string) bool {
			return q == a.Queue || !a.State.Ended() && strings.HasPrefix(a.Queue, q+".")
		}) &&
		in(f.Tags, func(t string) bool {
			return slices.ContainsFunc(a.Context.GetApplicationTags(), func(have string) bool { return strings.EqualFold(have, t) })
		}) &&
		(f.Name == nil || *f.Name == a.Context.GetApplicationName()) &&
		f.Started.admits(a.SubmitTime) && f.Finished.admits(a.FinishTime)
}

// Apps returns the applications that a filter admits, by id. The ledger may change meanwhile. Each takes less memory.
func (v *Viewer) Apps(f Filter) []App {
	apps := []App{}
	for a := range v.Each(f) {
		apps = append(apps, *a)
	}
	slices.Reverse(apps)
	return apps
}

// isoTime is the format of times that users set (Hadoop: Times.formatISO8601).
const isoTime = "2006-01-02T15:04:05.000-0700"

// ParseTime parses a time in that format.
func ParseTime(s string) (time.Time, error) { return time.Parse(isoTime, s) }

// FormatTime formats a time that way.
func FormatTime(t time.Time) string { return t.Format(isoTime) }

// Lifetime returns the end of an application's lifetime (UNLIMITED if it has none), and the remaining seconds (-1 for no end).
func (v *Viewer) Lifetime(a *App) (expires string, left int64) {
	switch {
	case a.Expires == 0:
		return "UNLIMITED", -1
	case a.State.Ended():
		return FormatTime(time.UnixMilli(a.Expires)), 0
	}
	return FormatTime(time.UnixMilli(a.Expires)), max(0, (a.Expires-v.Now().UnixMilli())/1000)
}

// Live returns the applications that haven't ended, with what only the leader knows of them, by id.
func (v *Viewer) Live() []App {
	apps := v.Apps(Filter{States: []pb.YarnApplicationState{
		pb.YarnApplicationState_NEW, pb.YarnApplicationState_NEW_SAVING, pb.YarnApplicationState_SUBMITTED,
		pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING,
	}})
	v.AddAsks(apps)
	return apps
}
