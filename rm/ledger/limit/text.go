// Package limit bounds what others can make the ledger keep: how long texts and how large commands may be. It is pure.
//
// A leader cleans each command before it applies it (Clean), so that a batch can be written whatever clients, ApplicationMasters and nodes
// send, and fills batches by upper bounds of the sizes of commands (SizeBound).
package limit

import (
	"strings"
	"unicode/utf8"

	"heddle/rm/ledger/ledgerpb"
)

// Limits of what others can make the ledger keep, in bytes.
const (
	MaxText  = 64 << 10 // of a text for people: diagnostics, a health report
	MaxURL   = 16 << 10
	MaxName  = 1 << 10 // of a user, queue, host, rack, version or feature
	MaxLabel = 255     // of a label of nodes
	maxNames = 64      // features of a node
)

// Head makes a string valid UTF-8 and cuts it after a character, to at most limit bytes. As in Java, invalid UTF-8 becomes
// U+FFFD. Protobuf refuses to encode anything else.
func Head(s string, limit int) string {
	s = valid(s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Tail is Head for texts whose end matters most: it cuts before a character, and marks the cut.
func Tail(s string, limit int) string {
	const mark = "… "
	// A string may grow to three times its bytes when it is made valid; a text that is cut anyway needn't be checked in full.
	if len(s) > limit {
		s = mark + s[runeAt(s, len(s)-limit+len(mark)):]
	}
	if s = valid(s); len(s) > limit {
		s = mark + s[runeAt(s, len(s)-limit+len(mark)):]
	}
	return s
}

// runeAt returns where the first character at or after an index begins; among invalid bytes it is the index itself.
func runeAt(s string, at int) int {
	for i := at; i < len(s) && i < at+utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return at
}

func valid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// IsName reports whether a string may name a user, a host or a queue in the ledger. Names are compared. So one that is too
// long or isn't UTF-8 is refused, not changed.
func IsName(s string) bool { return s != "" && len(s) <= MaxName && utf8.ValidString(s) }

// Clean makes every string of a command encodable, and cuts those that are too long.
func Clean(c *ledgerpb.Command) {
	switch {
	case c.ContainersAllocated != nil:
		for _, g := range c.ContainersAllocated.GetGrants() {
			g.Node = cleanNode(g.GetNode())
			cleanAll(g.GetTags())
		}
	case c.ContainersCompleted != nil:
		for _, done := range c.ContainersCompleted.GetCompletions() {
			CleanCompletion(done)
		}
	case c.ContainerLevelChanged != nil:
		if cause := c.ContainerLevelChanged.GetCause(); cause != nil {
			cause.Queue, cause.User = Head(cause.GetQueue(), MaxName), Head(cause.GetUser(), MaxName)
		}
	case c.NodeRegistered != nil:
		r := c.NodeRegistered
		r.Node, r.Rack, r.Version = cleanNode(r.GetNode()), Head(r.GetRack(), MaxName), Head(r.GetVersion(), MaxName)
		r.Features, r.Missing = fewNames(r.GetFeatures()), fewNames(r.GetMissing())
	case c.NodeUpdated != nil:
		c.NodeUpdated.Node = cleanNode(c.NodeUpdated.GetNode())
		cleanSet(c.NodeUpdated.HealthReport, Tail, MaxText)
	case c.NodeForgotten != nil:
		c.NodeForgotten.Node = cleanNode(c.NodeForgotten.GetNode())
	case c.LeaderStarted != nil:
		c.LeaderStarted.RmId = Head(c.LeaderStarted.GetRmId(), MaxName)
	case c.LeadershipOffered != nil:
		c.LeadershipOffered.RmId = Head(c.LeadershipOffered.GetRmId(), MaxName)
	case c.LedgerVersionRaised != nil:
		c.LedgerVersionRaised.Release = Head(c.LedgerVersionRaised.GetRelease(), MaxName)
	case c.QueuesConfigured != nil:
		cleanMap(c.QueuesConfigured.GetSettings())
	case c.QueuesChanged != nil:
		cleanQueues(c.QueuesChanged)
	case c.NodeLabelsChanged != nil:
		cleanLabels(c.NodeLabelsChanged)
	case c.UsageSampled != nil:
		for _, r := range c.UsageSampled.GetRows() {
			r.Name = Head(r.GetName(), MaxName)
		}
	case c.NodeAttributesChanged != nil:
		for _, h := range c.NodeAttributesChanged.GetHosts() {
			cleanAttributes(h)
		}
	case c.CourseNoted != nil:
		for _, w := range c.CourseNoted.GetWaits() {
			w.Limit = Head(w.GetLimit(), MaxName)
		}
	default:
		cleanApplication(c)
	}
}

func cleanQueues(c *ledgerpb.QueuesChanged) {
	for i, path := range c.GetDeleted() {
		c.Deleted[i] = Head(path, MaxName)
	}
	for _, q := range c.GetCreated() {
		q.Path, q.User = Head(q.GetPath(), MaxName), Head(q.GetUser(), MaxName)
	}
}

func cleanLabels(c *ledgerpb.NodeLabelsChanged) {
	for _, a := range c.GetAdded() {
		a.Name = Head(a.GetName(), MaxLabel)
	}
	for i, name := range c.GetRemoved() {
		c.Removed[i] = Head(name, MaxLabel)
	}
	for _, n := range c.GetNodes() {
		n.Node, n.Label = cleanNode(n.GetNode()), Head(n.GetLabel(), MaxLabel)
	}
}

func cleanAttributes(h *ledgerpb.HostAttributes) {
	h.Host = Head(h.GetHost(), MaxName)
	for _, a := range h.GetAttributes() {
		a.Name, a.Value = Head(a.GetName(), MaxLabel), Head(a.GetValue(), MaxLabel)
	}
}

func cleanApplication(c *ledgerpb.Command) {
	switch {
	case c.ApplicationIdIssued != nil:
		c.ApplicationIdIssued.User = Head(c.ApplicationIdIssued.GetUser(), MaxName)
	case c.ApplicationSubmitted != nil:
		s := c.ApplicationSubmitted
		s.User, s.Queue = Head(s.GetUser(), MaxName), Head(s.GetQueue(), MaxName)
	case c.ApplicationUpdated != nil:
		cleanSet(c.ApplicationUpdated.Queue, Head, MaxName)
		cleanSet(c.ApplicationUpdated.Diagnostics, Tail, MaxText)
	case c.ApplicationEnded != nil:
		c.ApplicationEnded.Diagnostics = Tail(c.ApplicationEnded.GetDiagnostics(), MaxText)
	case c.AttemptRegistered != nil:
		r := c.AttemptRegistered
		r.Host, r.TrackingUrl = Head(r.GetHost(), MaxName), Head(r.GetTrackingUrl(), MaxURL)
	case c.AttemptFinishing != nil:
		f := c.AttemptFinishing
		f.Diagnostics, f.TrackingUrl = Tail(f.GetDiagnostics(), MaxText), Head(f.GetTrackingUrl(), MaxURL)
	case c.AttemptEnded != nil:
		c.AttemptEnded.Diagnostics = Tail(c.AttemptEnded.GetDiagnostics(), MaxText)
	}
}

// CleanCompletion is like Clean, for one of a command's completions.
func CleanCompletion(done *ledgerpb.Completion) {
	done.Diagnostics = Tail(done.GetDiagnostics(), MaxText)
}

// cleanNode returns a valid reference unchanged: commands share references to nodes while they are encoded.
func cleanNode(r *ledgerpb.NodeRef) *ledgerpb.NodeRef {
	host := r.GetHost()
	if len(host) <= MaxName && utf8.ValidString(host) {
		return r
	}
	return &ledgerpb.NodeRef{Host: Head(host, MaxName), Port: r.GetPort()}
}

func cleanAll(names []string) {
	for i, s := range names {
		names[i] = Head(s, MaxName)
	}
}

func fewNames(names []string) []string {
	names = names[:min(len(names), maxNames)]
	cleanAll(names)
	return names
}

func cleanSet(s *string, how func(string, int) string, limit int) {
	if s != nil {
		*s = how(*s, limit)
	}
}

// cleanMap doesn't touch a valid map: others may read it.
func cleanMap(m map[string]string) {
	for k, v := range m {
		if utf8.ValidString(k) && utf8.ValidString(v) {
			continue
		}
		delete(m, k)
		m[valid(k)] = valid(v)
	}
}
