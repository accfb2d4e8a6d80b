package measure

import (
	"math"

	"heddle/yarn/records"
)

// Calculator compares and rounds amounts by what is measured (YARN: ResourceCalculator). Make it with New.
type Calculator struct {
	types      int
	MemoryOnly bool             // only memory is measured; see SetMemoryOnly
	Minimum    records.Resource // the smallest container
	Smallest   records.Resource // the smallest container, as it is measured
	Cluster    records.Resource // the size of the cluster, of which amounts are shares; its owner sets it
	whole      records.Resource // see SetWhole
	divided    bool             // there is a whole beside Cluster
}

// New returns a calculator that measures all of so many types of resources, for an empty cluster.
func New(types int, minimum records.Resource) Calculator {
	return Calculator{types: types, Minimum: minimum, Smallest: minimum}
}

// SetMemoryOnly says whether only memory is measured (YARN: DefaultResourceCalculator), or every type of resource.
func (c *Calculator) SetMemoryOnly(only bool) {
	c.MemoryOnly = only
	c.Smallest = c.Measure(c.Minimum)
}

// SetWhole says what all partitions have together, if Cluster is one of several, for LessOfWhole. It reports whether that
// may change comparisons.
func (c *Calculator) SetWhole(all records.Resource) bool {
	changed := c.whole != all && !c.MemoryOnly
	c.whole, c.divided = all, true
	return changed
}

// Shares is a part of the cluster for each type of resource.
type Shares [records.MaxResourceTypes]float64

// Types returns how many types of resources there are.
func (c *Calculator) Types() int { return c.types }

// Measured returns how many types of resources count, from the first one.
func (c *Calculator) Measured() int {
	if c.MemoryOnly {
		return records.Memory + 1
	}
	return c.types
}

// Measure returns what of an amount counts on nodes and for limits.
func (c *Calculator) Measure(r records.Resource) records.Resource {
	if c.MemoryOnly {
		return records.Resource{records.Memory: r[records.Memory]}
	}
	return r
}

// Fits reports whether an amount is at most another, by what is measured.
func (c *Calculator) Fits(size, in *records.Resource) bool {
	if c.MemoryOnly || size[records.Memory] > in[records.Memory] {
		return size[records.Memory] <= in[records.Memory]
	}
	for i := 1; i < c.Types(); i++ {
		if size[i] > in[i] {
			return false
		}
	}
	return true
}

// Add adds one amount to another in place. It doesn't look whether the sum fits: amounts of nodes, containers and requests are bounded before the
// scheduler gets them (records.MaxAmount), so that it does, and what was added can be taken off again. On hot paths it saves copies, and passes over types that there aren't.
func (c *Calculator) Add(to, r *records.Resource) {
	to[records.Memory] += r[records.Memory]
	to[records.VCores] += r[records.VCores]
	for i := records.VCores + 1; i < c.Types(); i++ {
		to[i] += r[i]
	}
}

// Sub is the opposite of Add.
func (c *Calculator) Sub(from, r *records.Resource) {
	from[records.Memory] -= r[records.Memory]
	from[records.VCores] -= r[records.VCores]
	for i := records.VCores + 1; i < c.Types(); i++ {
		from[i] -= r[i]
	}
}

// AddTimes adds n times an amount to another in place, as Add does.
func (c *Calculator) AddTimes(to, r *records.Resource, n int64) {
	for i := range c.Types() {
		to[i] += n * r[i]
	}
}

// Minus returns a − b, as Sub does.
func (c *Calculator) Minus(a, b *records.Resource) records.Resource {
	out := *a
	c.Sub(&out, b)
	return out
}

// Negative returns what Add takes off an amount.
func (c *Calculator) Negative(r *records.Resource) (out records.Resource) {
	c.Sub(&out, r)
	return out
}

// Share returns the part of the cluster that an amount is: of memory, or of the resource of which it is the largest.
func (c *Calculator) Share(r *records.Resource) float64 {
	return c.ShareOf(r, &c.Cluster)
}

// ShareOf is Share of another whole than the cluster.
func (c *Calculator) ShareOf(r, of *records.Resource) (most float64) {
	if c.MemoryOnly {
		if of[records.Memory] <= 0 {
			return 0
		}
		return float64(r[records.Memory]) / float64(of[records.Memory])
	}
	for i := range c.Types() {
		if n := r[i]; n > 0 && of[i] > 0 {
			most = max(most, float64(n)/float64(of[i]))
		}
	}
	return most
}

// Less compares amounts by the shares of the cluster that they are, the largest first.
func (c *Calculator) Less(a, b *records.Resource) bool { return c.lessOf(a, b, &c.Cluster) }

// LessOfWhole is Less by shares of all partitions together. In a partition, too, YARN checks by these whether users and
// queues have reached their limits.
func (c *Calculator) LessOfWhole(a, b *records.Resource) bool {
	if c.divided {
		return c.lessOf(a, b, &c.whole)
	}
	return c.lessOf(a, b, &c.Cluster)
}

func (c *Calculator) lessOf(a, b, of *records.Resource) bool {
	if c.MemoryOnly {
		return a[records.Memory] < b[records.Memory]
	}
	// Mostly one is the larger of every type, which needs no shares.
	var above, below bool
	for i := range c.Types() {
		if of[i] > 0 {
			below = below || a[i] < b[i]
			above = above || a[i] > b[i]
		}
	}
	if !above || !below {
		return below
	}
	x, y := c.sharesOf(a, of), c.sharesOf(b, of)
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}

// Larger returns the larger of two amounts, as Less compares them.
func (c *Calculator) Larger(a, b records.Resource) records.Resource {
	if c.Less(&a, &b) {
		return b
	}
	return a
}

// Smaller returns the smaller of two amounts, as LessOfWhole compares them.
func (c *Calculator) Smaller(a, b records.Resource) records.Resource {
	if c.LessOfWhole(&b, &a) {
		return b
	}
	return a
}

// sharesOf returns what part of a whole an amount is of each resource, the largest first.
func (c *Calculator) sharesOf(r, of *records.Resource) (out Shares) {
	for i := range c.Types() {
		if of[i] > 0 {
			out[i] = float64(r[i]) / float64(of[i])
		}
	}
	Descend(out[:c.Types()])
	return out
}

// Spent reports whether a queue that uses something has nothing left (Hadoop: AbstractCSQueue.canAssignToThisQueue, which
// compares dominant shares).
func (c *Calculator) Spent(used, room *records.Resource) bool {
	some, over := false, false
	for i := range c.Types() {
		if c.Cluster[i] > 0 {
			some, over = some || room[i] > 0, over || room[i] < 0
		}
		if c.MemoryOnly {
			break
		}
	}
	if !some || !over {
		return !some
	}
	limit := used.Add(*room)
	return !c.LessOfWhole(used, &limit)
}

// StepUp rounds an amount up to a multiple of the smallest container. Fractions are treated as YARN's calculators do, which
// keeps rounding errors of shares from adding a step.
func (c *Calculator) StepUp(i int, x float64) int64 {
	n := records.Whole(math.Ceil(float64(float32(x))))
	if c.MemoryOnly {
		n = records.Whole(x + 0.5)
	}
	if m := c.Minimum[i]; m > 1 {
		n = (min(n, math.MaxInt64-m) + m - 1) / m * m
	}
	return n
}

func (c *Calculator) stepDown(i int, x float64) int64 {
	n := records.Whole(x + 1e-6)
	if m := c.Minimum[i]; m > 0 {
		n = n / m * m
	}
	return n
}

// Weighted returns the limit of a user of some weight, given that of one of weight 1.
func (c *Calculator) Weighted(limit records.Resource, weight float64) records.Resource {
	for i := range limit {
		limit[i] = c.stepDown(i, float64(limit[i])*weight)
	}
	return limit
}

// SizeWeight lets an application weigh by the logarithm of the memory that it has and asks for, in MB.
func SizeWeight(has, asks int64) float64 {
	return max(1, math.Log1p(float64(has)+max(float64(asks), 0))/math.Ln2)
}

// Descend sorts shares, which are few and mostly in order.
func Descend(shares []float64) {
	for i := 1; i < len(shares); i++ {
		for j := i; j > 0 && shares[j] > shares[j-1]; j-- {
			shares[j], shares[j-1] = shares[j-1], shares[j]
		}
	}
}
