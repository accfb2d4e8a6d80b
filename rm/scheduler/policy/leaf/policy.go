package leaf

import (
	"math"

	"heddle/rm/queue/leafpolicy"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/nodeset"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Policy orders the applications of one leaf and may hold them back. It is called from the goroutine of its scheduler only, and must
// be deterministic: it has no clock, no I/O and no randomness. Ratio, Cap and Hold change nothing, as they are asked at any time and
// any number of times. Their answers may change when the policy is told something; Tick then names the applications.
type Policy interface {
	// Ratio returns what applications are ordered by: lower ones are served first, and of equal ones the one that was submitted first.
	// NaN counts as infinite. It is asked whenever the application has got, lost or asked for something.
	Ratio(a App) float64
	// Cap returns the most that an application may have now, with what is reserved for it. An application without a limit has Uncapped.
	Cap(a App) records.Resource
	// Hold reports whether a request must wait, and until when, in ms. It waits no longer than that, and may continue earlier
	// once Tick says that the application has changed.
	Hold(k Ask) (held bool, until int64)
	// Granted tells of a container. That of an application which ran before the leaf had this policy isn't told of; App.Used has it
	// in any case.
	Granted(a App, g Grant)
	// Ended tells of a container that has ended, also of one that Granted didn't tell of. The application's use doesn't
	// include it. The time of its end is that of the next Tick, which follows at once.
	Ended(a App, n Node, o Outcome)
	// Left tells that an application has ended or was moved. Its handle may come back as that of another one.
	Left(a handle.App)
	// Tick tells the time, in ms: before each decision that follows upon Granted, Ended or Left, and each Interval while the leaf
	// asks for anything. It returns the applications for which another answer holds now.
	Tick(now int64, q Queue) (changed []handle.App)
}

// Watcher is a Policy that hears of what applications ask for and produce, and not only when they get or lose containers.
type Watcher interface {
	// Asked tells that the count or the size of a request has changed by itself; a count of 0 means that it was withdrawn. The
	// requests of an application that enters the leaf come first. Grants change counts without a call.
	Asked(k Ask)
	// Outputs tells how many maps of an application have outputs on the nodes by now, and how many bytes these have together, as far
	// as is known.
	Outputs(a App, maps, bytes int64)
}

// Timer is a Policy whose Tick has nothing to do most of the time.
type Timer interface {
	// Time tells the time instead of Tick, in ms, and reports whether Tick is to be called nevertheless.
	Time(now int64) (tick bool)
}

// Shuffler is a Policy that wants to know how long shuffles take.
type Shuffler interface {
	// Bandwidth tells how fast a reduce fetches outputs of maps, in bytes per second, as far as nodes have measured it; 0 if none has.
	Bandwidth(rate float64)
}

// Placer is a Policy for which it matters on which nodes containers run.
type Placer interface {
	// Survey gives the policy what is known of nodes, before anything else. It changes between calls; Tick follows when its Version has.
	// nil takes it away, before the policy is dropped: it gives back what it holds.
	Survey(c *survey.Cluster)
}

// Ranker is a Policy that says where an application stands in its leaf, for people: "it has 0.31 of …, the first one 0.24".
type Ranker interface{ Standing(a App) string }

// Reporter is a Policy that hears what ApplicationMasters of Heddle's library tell of their tasks.
type Reporter interface{ Reported(a App, r TaskReport) }

// TaskReport is an ApplicationMaster's report of its tasks. Nothing of it is checked but that no number is negative or NaN: an ApplicationMaster
// may lie.
type TaskReport struct {
	Left      int64   // tasks of the phase that runs which haven't ended, those that run included
	Copies    bool    // it runs copies of tasks that are slow
	Young     int64   // tasks that wait or run, of which it can't tell yet whether they are slow
	Detection int64   // how long a task must have run until it can, in ms
	ToRead    int64   // bytes that the next phase has still to read; 0, as ToMake: unknown, or there is no next phase
	ToMake    int64   // bytes that this phase has still to put out
	Ended     int64   // tasks of which Beta was found
	Beta      float64 // shape of the Pareto distribution of its tasks' durations
}

// Sane returns a report without numbers that can't be.
func (r TaskReport) Sane() TaskReport {
	for _, n := range []*int64{&r.Left, &r.Young, &r.Detection, &r.ToRead, &r.ToMake, &r.Ended} {
		*n = max(*n, 0)
	}
	if !(r.Beta > 0) || math.IsInf(r.Beta, 1) {
		r.Beta, r.Ended = 0, 0
	}
	return r
}

// Leader is a Policy that counts ApplicationMasters apart, and hears of those that ran before the leaf had it. (Granted tells of others.)
type Leader interface {
	// Master tells what the ApplicationMaster of an application has, which has containers already; nothing if it runs in none.
	Master(a App, r records.Resource)
}

// Facts are the facts of an application besides its requests and containers.
type Facts struct {
	Outputs     bool // the next two are known
	Maps, Bytes int64
	Tasks       *TaskReport // nil: its ApplicationMaster tells nothing
}

// HoldingBack is the reason of a policy to hold back a request.
type HoldingBack struct {
	Policy string           // its name; empty: the request doesn't wait for a policy
	Until  int64            // at the longest, in ms
	Capped bool             // by the application's cap; else the request itself is held
	Cap    records.Resource // that the application may have now
}

// Prompter is a Policy that wants to be told the time before the Interval is over.
type Prompter interface{ Due() (at int64) } // in ms; 0: it needn't be

// Localizer is a Policy to which it matters how many tasks of an application could run next to their input.
type Localizer interface {
	// Locate gives the policy, before anything else, a function that counts them in the room that nodes have now. It looks at some thousand
	// places at most, and is to be called in Tick only.
	Locate(count func(h handle.App) int64)
}

// Configurer is a Policy with settings of its own.
type Configurer interface {
	// Configure sets them: before anything else, and whenever queues have been configured again. All that were registered are there.
	Configure(s leafpolicy.Values)
}

// Granter is a Policy that says how many containers an application may have for copies of its tasks, besides those for the tasks.
type Granter interface{ Copies(a App) int64 }

// Explainer is a Policy that says why a request waits that Hold holds back, for people: "12 maps are pending, …". It may be empty.
type Explainer interface{ Why(k Ask) string }

// App is an application as it is now. Its resources are those of the scheduler itself, as an App is copied with each event: they are good until the
// call returns, and a policy changes nothing in them.
type App struct {
	Handle     handle.App
	Seq        int64  // order of submission
	Priority   int32  // as submitted; higher numbers are more important
	Type       string // as submitted, such as MAPREDUCE
	Containers int32  // that it has
	User       string
	Weight     float64           // of the user in the leaf; 1 if nothing else is configured
	Used       *records.Resource // with what is reserved for it
	Pending    *records.Resource // that it asks for
}

// Ask is a request of an application: so many containers of one size.
type Ask struct {
	App        App
	Priority   int32 // lower numbers are more urgent. MapReduce asks for maps at 20 and for reduces at 10
	RequestID  int64 // YARN's allocation request id
	Count      int32 // that are pending
	Capability records.Resource
	Work       nodeset.Works // its kind
}

// Grant is a container that an application has got.
type Grant struct {
	Container handle.Container
	Node      Node
	Resource  records.Resource
	Since     int64 // when it was granted, in ms
	// Ask is the request that it was granted for, with the count that is pending now.
	Ask Ask
	// Note is where the policy may note something about the container, which it gets back when that has ended.
	Note *Note
	// Restored says that another leader granted it. Of Ask only App, Capability and Priority are known then, and Priority is Unknown if
	// not even that is.
	Restored bool
}

// Unknown is the priority of a request that is no longer known.
const Unknown = math.MinInt32

// Node is where a container is. A Placer finds its host in the Survey: names of thousands of nodes lie far apart in memory, and few policies look at them.
type Node struct{ Handle handle.Node }

// Outcome describes a container that has ended.
type Outcome struct {
	Container handle.Container
	Resource  records.Resource // that it had
	Note      Note             // that the policy has made in Grant; it may be one of another policy
	Failed    bool             // it ended before its work was done: it failed, was taken, or lost with its node
}

// Queue is the leaf as it is now.
type Queue struct {
	Path                string
	Guaranteed, Maximum records.Resource // in the cluster as it is
	Used, Pending       records.Resource
	Free                records.Resource // that it could get besides: what nodes have free, within the maxima of queues
	Types               int              // of resources that are measured, from the first one
	Active              int32            // applications that may have containers
}

// Uncapped returns the Cap of an application that has no limit.
func Uncapped() (r records.Resource) {
	for i := range r {
		r[i] = math.MaxInt64
	}
	return r
}
