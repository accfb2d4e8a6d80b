package leader

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"heddle/rm/leader/hints"
	"heddle/rm/ledger"
	"heddle/yarn/pb"
	"heddle/yarn/records"
)

// Tick measures the queues that were asked for.
func (ms *masters) Tick(now time.Time) {
	ms.meters.Measure(now.Sub(ms.began), ms.outputs.Bandwidth(), ms.inQueues())
}

// inQueues returns the live applications with what is known of them.
func (c *core) inQueues() iter.Seq2[*ledger.Application, *hints.Told] {
	return func(yield func(*ledger.Application, *hints.Told) bool) {
		for id, soft := range c.apps {
			if !yield(c.work.Apps[id], &soft.told) {
				return
			}
		}
	}
}

// Tick removes nodes that have been silent for too long. None can be before the one that is silent for longest now. So it looks
// at all of them once in a while only: at ten thousand, each second, it would hold up the loop.
func (ns *nodeManagers) Tick(now time.Time) {
	if now.Before(ns.nextExpiry) {
		return
	}
	longest := now
	for id, n := range ns.nodes {
		if n.session.seen.SilentFor(now, ns.Settings.NodeExpiry) {
			ns.removeNode(id, pb.NodeState_NS_LOST)
		} else if at := n.session.seen.Last(); at.Before(longest) {
			longest = at
		}
	}
	ns.nextExpiry = longest.Add(ns.Settings.NodeExpiry)
}

// Tick ends attempts whose ApplicationMaster is silent, or has unregistered and still runs. A suspended one can't be heard:
// when it continues, at least half of the time is left to it.
func (at *attempts) Tick(now time.Time) {
	for id, soft := range at.apps {
		app := at.work.Apps[id]
		attempt := app.Current()
		if soft.session == nil || attempt.State < ledger.AttemptLaunched || attempt.State.Ended() {
			continue
		}
		if !soft.session.seen.SilentFor(now, at.Settings.AMExpiry/2) {
			continue
		}
		if at.starved(app) {
			soft.session.seen.At(now)
			continue
		}
		if !soft.session.seen.SilentFor(now, at.Settings.AMExpiry) {
			continue
		}
		at.stopAM(app, attempt)
		if attempt.State == ledger.AttemptFinishing {
			at.finish(app, attempt, records.ExitKilledByResourceManager)
			continue
		}
		at.failAttempt(app, attempt, attemptEnd{
			diagnostics: fmt.Sprintf("ApplicationMaster for attempt %v timed out", attempt.ID),
			exit:        records.ExitInvalid,
		})
	}
}

// starved reports whether the container of an application's ApplicationMaster is suspended, so that it can't be heard.
func (c *core) starved(app *ledger.Application) bool {
	attempt := app.Current()
	if attempt == nil {
		return false
	}
	am := app.Containers.Get(attempt.AMContainer)
	return am != nil && am.Live() && am.Starved()
}

// Tick takes back containers that were granted and never started. If their ApplicationMaster is suspended, or their node has not
// registered with this leader yet, they get some more time.
func (cs *containers) Tick(now time.Time) {
	for _, id := range slices.Concat(cs.inherited.Due(now), cs.unstarted.Due(now)) {
		if !cs.waitsForStart(id) {
			continue
		}
		c := cs.work.Container(id)
		switch {
		case cs.starved(cs.work.Apps[id.Attempt.App]):
			cs.unstarted.Add(id, now.Add(cs.Settings.AllocationExpiry), cs.waitsForStart)
			continue
		case !cs.nodes[c.Node].session.back():
			cs.inherit(id, now)
			continue
		}
		cs.Log.WithField("container", c.ID).Warn("a granted container was never started")
		cs.cleanUp(c)
		cs.complete(cs.work.Apps[c.ID.Attempt.App], c, records.ExitAborted, "Container expired since it was unused")
	}
}

// grace is for how long after the beginning of a leadership nothing ends whose deadline an earlier one has set: the clocks of their
// machines may differ, and the callers that would prolong it have just come back.
const grace = time.Minute

func (c *core) justBegun(now time.Time) bool { return now.Sub(c.began) < grace }

// switchTime is how long nodes aren't shut down for the address that they call from, after a leadership has begun. Hadoop's try to register
// for as long (yarn.resourcemanager.connect.max-wait.ms).
const switchTime = 15 * time.Minute

func (c *core) switching(now time.Time) bool { return now.Sub(c.began) < switchTime }

// Tick ends the applications whose lifetime is over.
func (as *applications) Tick(now time.Time) {
	date := as.Date().UnixMilli()
	for id, soft := range as.apps {
		app := as.work.Apps[id]
		if soft.inherited && as.justBegun(now) {
			continue
		}
		if app.Expires > 0 && date >= app.Expires {
			as.kill(app, "Application is killed by ResourceManager as it has exceeded the lifetime period.")
		}
	}
}
