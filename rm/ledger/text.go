package ledger

import (
	"strings"
	"unicode/utf8"

	"heddle/rm/ledger/ledgerpb"
)

// Limits of what others can have the ledger keep, in bytes.
const (
	MaxText  = 64 << 10 // of a text for people: diagnostics, a health report
	MaxURL   = 16 << 10
	MaxName  = 1 << 10 // of a user, queue, host, rack, version or feature
	maxNames = 64      // features of a node
)

// Head makes a string valid UTF-8 and cuts it behind a character, to limit bytes at most. As in Java, what is no UTF-8 becomes
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

// Tail is Head for texts whose end matters most: it cuts in front of a character, and marks that.
func Tail(s string, limit int) string {
	const mark = "… "
	// Bytes can treble in number when they are made valid; there is no need to look at all of a text that is cut anyway.
	if len(s) > limit {
		s = mark + s[runeAt(s, len(s)-limit+len(mark)):]
	}
	if s = valid(s); len(s) > limit {
		s = mark + s[runeAt(s, len(s)-limit+len(mark)):]
	}
	return s
}

// runeAt is where the first character begins at or behind a place; in bytes that are no characters it is the place itself.
func runeAt(s string, at int) int {
	for i := at; i < len(s) && i < at+utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return at
}

func valid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// IsName reports whether a string can name a user, a host or a queue in the ledger. Such names are compared, and so are refused
// rather than changed when they are too long or no UTF-8.
func IsName(s string) bool { return s != "" && len(s) <= MaxName && utf8.ValidString(s) }

// Clean makes every string of a command one that can be encoded, and cuts those that are too long. A leader cleans each command
// before it applies it: whatever clients, ApplicationMasters and nodes send, a batch can be written.
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
	default:
		cleanApplication(c)
	}
}

func cleanApplication(c *ledgerpb.Command) {
	switch {
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

// CleanCompletion is Clean for one of a command's completions.
func CleanCompletion(done *ledgerpb.Completion) {
	done.Diagnostics = Tail(done.GetDiagnostics(), MaxText)
}

// cleanNode returns the reference itself where it is good: nodes' are shared by commands that are being encoded.
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

// cleanMap leaves a map that is good as it is: others may read it.
func cleanMap(m map[string]string) {
	for k, v := range m {
		if utf8.ValidString(k) && utf8.ValidString(v) {
			continue
		}
		delete(m, k)
		m[valid(k)] = valid(v)
	}
}
