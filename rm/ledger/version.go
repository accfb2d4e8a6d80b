package ledger

import (
	"fmt"

	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/ledger/limit"
)

// Version is the newest version of the ledger that this program can apply, and can write once all members can. The versions:
//
//	1  the first
//	2  versions; members that disagree find out (LeaderStarted.refused); ended applications keep only what can be asked for of
//	   their submission, and no credentials; applications that never end keep their last attempts
//	3  levels of containers: what a container takes of its node may be less than its claim (ContainerLevelChanged)
//	4  for whom containers are suspended, since when, how often and how long (SuspensionCause)
//	5  to which users application ids were issued; resource-seconds end at the largest number, where they wrapped (nothing depends on these sums)
//	6  labels of nodes (NodeLabelsChanged); the newest ended containers of an application are kept beside the first ones
//	7  what was used over time (UsageSampled)
//	8  queues that were created on demand (QueuesChanged)
//	9  attributes of nodes (NodeAttributesChanged)
//	10 promotion and demotion of containers (ContainerResized.execution_type)
//	11 what held requests, and what ApplicationMasters tell of tasks (CourseNoted); grants far from their input; files that were fetched
//	12 the authority for certificates of ApplicationMasters (KeyKind.PROXY_CA)
//	13 for how long containers had no processor, and which were given back (ContainerTimes.starved, given_back)
//
// Increase it when you change what a batch or a snapshot may hold, or what State.Apply makes of it.
const Version = 13

// Versions of the ledger from which on something is recorded.
const (
	OwnerVersion  = 5 // to which user each application id was issued
	LabelsVersion = 6 // labels of nodes
	QueuesVersion = 8 // queues that were created on demand
	PathVersion   = 6 // the newest ended containers of an application
	UsageVersion  = 7 // what was used over time

	AttributesVersion = 9 // attributes of nodes

	PromotionVersion = 10 // promotion and demotion of containers
	CourseVersion    = 11 // how applications get on
	ProxyCAVersion   = 12 // the authority for certificates of ApplicationMasters
	StarvedVersion   = 13 // containers that had no processor, or were given back
)

// NewerError says that a newer version of Heddle wrote something that this one doesn't know.
type NewerError struct {
	Version int32  // of the ledger that is needed; 0 = unknown
	Release string // of Heddle that raised the cluster's version, "" = unknown
	What    string // what this version doesn't know, "" if it's the version itself
}

func (e *NewerError) Error() string {
	needs := "a newer ledger version"
	if e.Version > 0 {
		needs = fmt.Sprintf("ledger version %d", e.Version)
	}
	text := fmt.Sprintf("this needs %s, and this ResourceManager can apply version %d", needs, Version)
	if e.What != "" {
		text += " (it doesn't know " + e.What + ")"
	}
	release := "the release of Heddle that the leader runs"
	if e.Release != "" {
		release = "Heddle " + e.Release
	}
	return text + ": install " + release + " or a newer one here and start it again; it continues where it stopped"
}

// DivergedError says that this member's ledger differs from its leader's.
type DivergedError struct {
	Refused       int64 // batches that this member refused
	Leader        string
	LeaderRefused int64
}

func (e *DivergedError) Error() string {
	return fmt.Sprintf("this member's ledger differs from that of %s: it has refused %d batches of the log, and that one %d. "+
		"One of the two was changed by a defect or by hand; start the wrong one again with an empty state folder", e.Leader, e.Refused, e.LeaderRefused)
}

func (s *State) versionRaised(c *ledgerpb.LedgerVersionRaised) error {
	switch v := c.GetVersion(); {
	case v > Version:
		return &NewerError{Version: v, Release: c.GetRelease()}
	case v <= s.Version:
		return fmt.Errorf("the ledger has version %d already, and can't get %d", s.Version, v)
	}
	if s.Version < OwnerVersion && c.GetVersion() >= OwnerVersion {
		s.Issued.Unowned = s.LastApplication
	}
	s.Version, s.Release = c.GetVersion(), c.GetRelease()
	for _, app := range s.Apps {
		if app.State.Ended() {
			app.setContext(limit.Remains(app.Context))
		} else if len(app.Attempts) > 0 {
			app.forgetAttempts()
		}
		app.weigh(s)
	}
	return nil
}
