package staging

import "time"

// Source finds how many copies at a time its inputs' source is worth. Disks that are read ten times at once give no more than before, and each copy takes ten times as
// long, as does what tasks read themselves. So it begins with one copy at a time, and tries twice as many, or half, now and then: more are made only where more bytes
// come. The zero value is ready for use. Times are elapsed ones, of one clock.
type Source struct {
	allowed int           // copies at a time; 0: one
	active  int           // copies under way
	since   time.Duration // when so many were under way, or the last copy was made

	bytes  int64 // of the copies that are counted, which took so long together
	took   time.Duration
	copies int

	trial  int     // allowed before a trial; 0: this is none
	rate   float64 // with so many, bytes a second
	up     bool    // the last trial was of more
	steady int     // so many counts until the next trial
}

const (
	// countedCopies is how many copies are counted at least before the next step, and at least two for each that is made at a time.
	countedCopies = 4
	// steadyCounts is for how many counts allowed stays when a trial has failed.
	steadyCounts = 8
	// worthMore is how much more has to come for twice as many copies, enoughLess how much has to come with half of them.
	worthMore, enoughLess = 1.25, 0.9
)

// Copies returns how many copies are to be made at a time.
func (s *Source) Copies() int { return max(1, s.allowed) }

// Began says that a copy is being made.
func (s *Source) Began(now time.Duration) {
	if s.active++; s.active == s.Copies() {
		s.since = now
	}
}

// Copied says that a copy has so many bytes, or none if it failed. There are never more than most copies at a time.
func (s *Source) Copied(now time.Duration, bytes int64, most int) {
	if s.active >= s.Copies() && bytes > 0 {
		s.bytes, s.took, s.copies = s.bytes+bytes, s.took+now-s.since, s.copies+1
	}
	s.active--
	s.since = now
	if s.copies < max(countedCopies, 2*s.Copies()) || s.took <= 0 {
		return
	}
	rate := float64(s.bytes) / s.took.Seconds()
	s.bytes, s.took, s.copies = 0, 0, 0
	s.step(rate, most)
}

// step decides by how many bytes come in a second.
func (s *Source) step(rate float64, most int) {
	switch {
	case s.trial != 0 && s.worth(rate):
		s.trial, s.steady = 0, 0 // and on in the same direction
	case s.trial != 0:
		s.allowed, s.trial, s.steady, s.up = s.trial, 0, steadyCounts, !s.up
		return
	case s.steady > 0:
		s.steady--
		return
	case s.allowed == 0:
		s.allowed, s.up = 1, true
	}
	next := s.allowed / 2
	if s.up {
		next = 2 * s.allowed
	}
	if next = min(max(1, next), max(1, most)); next == s.allowed {
		s.steady, s.up = steadyCounts, !s.up
		return
	}
	s.trial, s.rate, s.allowed = s.allowed, rate, next
}

// worth reports whether what is tried is better than the one before.
func (s *Source) worth(rate float64) bool {
	if s.up {
		return rate >= worthMore*s.rate
	}
	return rate >= enoughLess*s.rate
}
