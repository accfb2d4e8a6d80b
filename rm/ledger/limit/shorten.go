package limit

import "heddle/rm/ledger/ledgerpb"

// Shorten cuts the texts of ApplicationMasters and nodes in a command to MaxBrief. It is for a command that was cleaned.
func Shorten(c *ledgerpb.Command) {
	switch {
	case c.ContainersCompleted != nil:
		for _, done := range c.ContainersCompleted.GetCompletions() {
			ShortenCompletion(done)
		}
	case c.NodeRegistered != nil:
		for _, words := range [][]string{c.NodeRegistered.GetFeatures(), c.NodeRegistered.GetMissing()} {
			for i, word := range words {
				words[i] = Head(word, maxWord)
			}
		}
	case c.NodeUpdated != nil:
		cleanSet(c.NodeUpdated.HealthReport, Tail, MaxBrief)
	case c.ApplicationUpdated != nil:
		cleanSet(c.ApplicationUpdated.Diagnostics, Tail, MaxBrief)
	case c.ApplicationEnded != nil:
		c.ApplicationEnded.Diagnostics = Tail(c.ApplicationEnded.GetDiagnostics(), MaxBrief)
	case c.AttemptRegistered != nil:
		c.AttemptRegistered.TrackingUrl = Head(c.AttemptRegistered.GetTrackingUrl(), MaxBrief)
	case c.AttemptFinishing != nil:
		f := c.AttemptFinishing
		f.Diagnostics, f.TrackingUrl = Tail(f.GetDiagnostics(), MaxBrief), Head(f.GetTrackingUrl(), MaxBrief)
	case c.AttemptEnded != nil:
		c.AttemptEnded.Diagnostics = Tail(c.AttemptEnded.GetDiagnostics(), MaxBrief)
	}
}

// ShortenCompletion is like Shorten, for one of a command's completions.
func ShortenCompletion(done *ledgerpb.Completion) {
	done.Diagnostics = Tail(done.GetDiagnostics(), MaxBrief)
}
