package view

import (
	"fmt"
	"strings"

	"heddle/rm/leader/level"
	"heddle/rm/ledger"
	"heddle/rm/ledger/ledgerpb"
	"heddle/yarn/records"
)

// Suspended is a live container that is suspended or shrunk, or was, and its node has not reported yet that it resumes.
type Suspended struct {
	Container
	// UnderWay is its level if its node has not reported yet that it has it.
	UnderWay *level.UnderWay
	// Short is what its node lacks for its return; zero: there is room.
	Short records.Resource
	// Report is what its node says of it, once the node has said something (Known).
	Report level.Report
	Known  bool
}

// SuspendedOf completes the view of a container by how it is suspended.
func (v *Viewer) SuspendedOf(c Container) Suspended {
	l := v.Source.Leader()
	if l == nil {
		return suspended(c)
	}
	s := suspended(c)
	if u, ok := l.Levels().UnderWayOf(c.ID); ok {
		s.UnderWay = &u
	}
	if c.Level != ledgerpb.Level_RUNNING || s.UnderWay != nil {
		s.Report, s.Known = l.LevelReport(c.Node, c.ID)
	}
	return s
}

// Diagnostics says for people why a container was ended, how it is suspended or shrunk, or that it has still to continue; "" if it runs with all that it claims.
func (v *Viewer) Diagnostics(c Container) string {
	s := v.SuspendedOf(c)
	if c.Diagnostic != "" || c.Level == ledgerpb.Level_RUNNING && s.UnderWay == nil {
		return c.Diagnostic
	}
	return s.Text(v.Now().UnixMilli())
}

func suspended(c Container) Suspended {
	lacks := c.Resource.Sub(c.Held())
	return Suspended{Container: c, Short: lacks.Sub(c.free).Max(records.Resource{})}
}

// For names the beneficiary of the suspension, for people; "" if that isn't on record.
func (s *Suspended) For() string {
	switch cause := s.Suspension(); {
	case cause.Times == 0:
		return ""
	case cause.Queue != "":
		return "queue " + cause.Queue
	case cause.User == ledger.ForShortTasks:
		return "short tasks of its node"
	case cause.User != "":
		return "user " + cause.User
	}
	return "its ApplicationMaster"
}

// Text says in one line for people how long and for which beneficiary the container is suspended, when it resumes, and what its node has not reported yet.
func (s *Suspended) Text(now int64) string {
	switch {
	case s.UnderWay == nil:
		return s.text(now)
	case s.Level == ledgerpb.Level_RUNNING:
		return s.UnderWay.Text(now)
	}
	return s.text(now) + " (" + s.UnderWay.Unreported() + ")"
}

func (s *Suspended) text(now int64) string {
	x := s.Suspension()
	text := "suspended"
	if s.Level == ledgerpb.Level_SHRUNK {
		text = "shrunk to " + amount(s.Held())
	}
	if x.Since > 0 {
		text += fmt.Sprintf(" %d s", max(now-x.Since, 0)/1000)
	}
	switch {
	case x.Times == 0:
		return text + " by an earlier release, which didn't record for whom"
	case x.Queue == "" && x.User == "":
		return text + " by its ApplicationMaster"
	case x.User == ledger.ForShortTasks:
		return text + " for short tasks of its node, resumes by itself"
	case x.Queue == "":
		text += " by user " + x.User
		if !s.Resource.FitsIn(s.offered) {
			text += ", can resume when nothing else runs on " + s.Node.Host + ", which has become too small for it"
		}
		return text
	case !s.Resource.FitsIn(s.offered):
		return text + " for queue " + x.Queue + ", resumes when nothing else runs on " + s.Node.Host + ", which has become too small for it"
	case s.Short == records.Resource{}:
		return text + " for queue " + x.Queue + ", resumes as soon as there was room for it on " + s.Node.Host + " for a moment"
	}
	return text + " for queue " + x.Queue + ", resumes when " + amount(s.Short) + " " + frees(s.Short) + " up on " + s.Node.Host
}

// frees returns the verb that agrees with amount(r).
func frees(r records.Resource) string {
	if r.MemoryMB() == 0 && r.VCores() == 1 {
		return "frees"
	}
	return "free"
}

// amount is memory and vcores for people.
func amount(r records.Resource) string {
	var parts []string
	switch mb := r.MemoryMB(); {
	case mb > 0 && mb%1024 == 0:
		parts = append(parts, fmt.Sprintf("%d GB", mb>>10))
	case mb > 0:
		parts = append(parts, fmt.Sprintf("%d MB", mb))
	}
	switch n := r.VCores(); {
	case n == 1:
		parts = append(parts, "1 vcore")
	case n > 1:
		parts = append(parts, fmt.Sprintf("%d vcores", n))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

// maxSuspendedShown is how many suspended containers the diagnostics of an application name.
const maxSuspendedShown = 3

// suspensions says in one line which containers of an application are suspended; "" if none is.
func suspensions(list []Suspended, now int64) string {
	if len(list) == 0 {
		return ""
	}
	var texts []string
	for i := range list[:min(len(list), maxSuspendedShown)] {
		texts = append(texts, list[i].ID.String()+" is "+list[i].Text(now))
	}
	if more := len(list) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}
