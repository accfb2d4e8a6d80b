package constraint

// Searches for nodes that satisfy constraints may take about a tenth of the scheduler's time, so that nobody's constraints slow the requests of others.
// A lookup takes some 50 ns.
const (
	lookupsPerMS = 2000
	maxLookups   = 20_000 // saved up
)

// allowance is how much searching is paid for.
type allowance struct {
	left, at, paid int64
	begun          bool
}

// Spend notes that a search looks up so many things.
func (t *Table) Spend(lookups int64) { t.Looked += lookups }

// Allowance returns how many lookups searches may take now, in ms of the scheduler's time. It isn't positive where earlier ones took more than was theirs.
func (t *Table) Allowance(now int64) int64 {
	a := &t.allowance
	a.left -= t.Looked - a.paid
	a.paid = t.Looked
	switch gone := now - a.at; {
	case !a.begun || gone > maxLookups:
		a.left = maxLookups
	case gone > 0:
		a.left = min(a.left+gone*lookupsPerMS, maxLookups)
	}
	a.begun, a.at = true, max(a.at, now)
	return a.left
}
