// Package quotes judges quotes that weren't kept, for the ResourceManager, which lends more of nodes for it, and for nodes, which stage more at a time.
package quotes

// Broken quotes say something if there are some, and more are broken than their 95th percentile allows.
const (
	fewest = 20
	anyway = 0.05
)

// Broken returns how bad it is, 0 to 1, that so many of a window's quotes were broken. Givers of vain quotes are busier than they know.
func Broken(given, broken int64) float64 {
	if given < fewest {
		return 0
	}
	return max(0, (float64(broken)/float64(given)-anyway)/(1-anyway))
}
