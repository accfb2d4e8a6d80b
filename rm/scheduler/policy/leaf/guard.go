package leaf

import (
	"math"

	"heddle/rm/queue/leafpolicy"
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/survey"
	"heddle/yarn/records"
)

// Bound is the longest time that a policy may hold back a request, in ms. A request that was held for so long is held no more until it
// has got a container. An application that got nothing for so long, though it asked, comes first in its leaf until it gets a container,
// and has neither a cap nor held requests.
const Bound = 10 * 60 * 1000

// Interval is how often a policy is told the time, in ms.
const Interval = 1000

// Ranks of applications: those that have waited for Bound come first.
const (
	overdue uint8 = iota
	regular
)

// Guard is a policy within its bounds. Times are in ms. Since is when an application began to ask without getting anything, or when a
// request was held for the first time since it got something; 0 means that it does not wait.
type Guard struct {
	Name   string
	policy Policy
	watch  Watcher   // nil: the policy is none
	why    Explainer // likewise
	told   bool      // of something since the last Tick
	next   int64     // when Tick is due in any case

	shuffles Shuffler // nil: the policy is none
	places   Placer   // likewise
	ranks    Ranker   // likewise

	reports    Reporter // likewise, as those below
	prompts    Prompter
	locates    Localizer
	grants     Granter
	configures Configurer
	leads      Leader
	timer      Timer
}

// Moment returns a time as Since has it: one that differs from none.
func Moment(now int64) int64 {
	if now == 0 {
		return -1
	}
	return now
}

// Overdue reports whether an application that has got nothing since a time has waited for too long.
func (g *Guard) Overdue(since, now int64) bool { return since != 0 && now-since >= Bound }

// Key returns what an application is ordered by: rank first, then ratio. Of those overdue the one that has waited longest comes first.
func (g *Guard) Key(a App, since, now int64) (rank uint8, ratio float64) {
	if g.Overdue(since, now) {
		return overdue, float64(since)
	}
	if ratio = g.policy.Ratio(a); math.IsNaN(ratio) {
		ratio = math.Inf(1)
	}
	return regular, ratio
}

// Cap returns the most that an application may have, and until when that holds at the longest. Below 0 there is nothing.
func (g *Guard) Cap(a App, since, now int64) (most records.Resource, until int64) {
	if g.Overdue(since, now) {
		return Uncapped(), now
	}
	if since == 0 {
		since = now
	}
	return g.policy.Cap(a).Max(records.Resource{}), since + Bound
}

// Hold reports whether a request must wait, and until when at the longest.
func (g *Guard) Hold(k Ask, since, now int64) (held bool, until int64) {
	if g.Overdue(since, now) {
		return false, 0
	}
	if held, until = g.policy.Hold(k); !held || until <= now {
		return false, 0
	}
	if since == 0 {
		since = now
	}
	return true, min(until, since+Bound)
}

// Granted, Ended and Left, and Asked where it Watches, tell the policy.
func (g *Guard) Granted(a App, x Grant) {
	g.told = true
	g.policy.Granted(a, x)
}

// Watches reports whether the policy wants to hear of what applications ask for, by Asked.
func (g *Guard) Watches() bool { return g.watch != nil }

func (g *Guard) Asked(k Ask) {
	g.told = true
	g.watch.Asked(k)
}

// Bandwidth tells the policy how fast outputs of maps are fetched, if it wants to know. It makes of it what it does with the next Tick.
func (g *Guard) Bandwidth(rate float64) {
	if g.shuffles != nil {
		g.shuffles.Bandwidth(rate)
	}
}

// Places reports whether nodes matter to the policy, which is given a Survey then.
func (g *Guard) Places() bool { return g.places != nil }

func (g *Guard) Survey(c *survey.Cluster) { g.places.Survey(c) }

// Configure sets the policy's own settings.
func (g *Guard) Configure(s leafpolicy.Values) {
	if g.configures != nil {
		g.told = true
		g.configures.Configure(s)
	}
}

// Locate gives the policy a function that counts tasks that could run next to their input, if it wants one.
func (g *Guard) Locate(count func(h handle.App) int64) {
	if g.locates != nil {
		g.locates.Locate(count)
	}
}

// Facts tells the policy what is known of an application, as far as it wants to hear of that.
func (g *Guard) Facts(a App, f Facts) {
	g.told = true
	if g.watch != nil && f.Outputs {
		g.watch.Outputs(a, f.Maps, f.Bytes)
	}
	if g.reports != nil && f.Tasks != nil {
		g.reports.Reported(a, *f.Tasks)
	}
}

// Master tells the policy of an ApplicationMaster that runs already, if it wants to hear of that. It regards that with the next Tick.
func (g *Guard) Master(a App, r records.Resource) {
	if g.leads != nil && a.Containers > 0 {
		g.leads.Master(a, r)
	}
}

// Copies returns how many containers an application may have for copies of its tasks, besides those for the tasks. It is false where the policy
// doesn't say so.
func (g *Guard) Copies(a App) (n int64, known bool) {
	if g.grants == nil {
		return 0, false
	}
	return g.grants.Copies(a), true
}

// Standing returns where the policy sees an application in the leaf, for people; empty if it says nothing.
func (g *Guard) Standing(a App) string {
	if g.ranks == nil {
		return ""
	}
	return g.ranks.Standing(a)
}

// Why returns the policy's reason for holding a request, for people; empty if it gives none.
func (g *Guard) Why(k Ask) string {
	if g.why == nil {
		return ""
	}
	return g.why.Why(k)
}

func (g *Guard) Ended(a App, n Node, o Outcome) {
	g.told = true
	g.policy.Ended(a, n, o)
}

func (g *Guard) Left(a handle.App) {
	g.told = true
	g.policy.Left(a)
}

// Due reports whether the policy must be told the time: because it has heard of something, or because the Interval is over.
func (g *Guard) Due(now int64) (told, over bool) { return g.told, now >= g.next }

// Wants reports whether Tick is to be called. If not the policy knows the time already.
func (g *Guard) Wants(now int64) bool {
	if g.timer == nil || g.timer.Time(now) {
		return true
	}
	g.heard(now)
	return false
}

// heard notes that the policy knows the time.
func (g *Guard) heard(now int64) {
	if g.told = false; now >= g.next {
		g.next = now + Interval
	}
}

// Tick tells the policy the time.
func (g *Guard) Tick(now int64, q Queue) (changed []handle.App) {
	g.heard(now)
	return g.policy.Tick(now, q)
}

// Next returns when Tick is due if nothing happens.
func (g *Guard) Next() int64 {
	if at, wanted := g.prompt(); wanted {
		return min(g.next, at)
	}
	return g.next
}

// Prompted reports whether the policy wants to be told the time now.
func (g *Guard) Prompted(now int64) bool {
	at, wanted := g.prompt()
	return wanted && now >= at
}

func (g *Guard) prompt() (at int64, wanted bool) {
	if g.prompts == nil {
		return 0, false
	}
	at = g.prompts.Due()
	return at, at != 0
}
