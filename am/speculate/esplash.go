package speculate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"heddle/am/stage"
	"heddle/internal/speedclass"
)

const stages = 2

// Settings of ESplash.
const (
	epoch      = 3 * time.Second  // between two updates of straggler values; workers report at least so often
	reclassify = 10 * time.Second // between two clusterings
	threshold  = 3.0              // τ: a node with a larger straggler value straggles
	weight     = 1. / 3           // of the latest epoch in a straggler value
	bound      = 5.0              // of each term of a straggler value: one bad epoch alone is not more than the threshold
	fading     = 0.98             // by which earlier executions weigh less with each that follows
	leastDev   = 0.05             // a deviation is at least that part of the mean
	forever    = 1e6              // seconds that a task without progress takes
	sluggish   = 2.0              // times as slow as before is an attempt whose pace isn't remembered
)

// ESplash is the Speculator of the paper. Its zero value is ready.
type ESplash struct {
	nodes      []performance
	tasks      [stages][]track // by index of the task
	classes    []int           // by node; 0: it has finished nothing yet
	highest    int
	table      [][stages]statistics // by class; 0 is for all nodes together
	count      []float64            // containers by class, without those of stragglers
	at         time.Duration        // of the latest epoch
	classified time.Duration
	begun      bool
	sums       []float64
	running    []int
	present    [][stages]bool // by node: it is well, and runs tasks of a stage
	found      []stage.Copy
}

// performance has the measurements of a node.
type performance struct {
	done      [stages]moments
	value     float64 // SV
	straggles bool
	pace      [stages]pace
}

// pace is how a node's tasks get on beside those of another class, as long as the node is well.
type pace struct {
	to    int     // the class; 0: nothing is known
	times float64 // as fast as tasks there
}

// moments are weighted sums of execution times in seconds.
type moments struct{ n, sum, sq float64 }

func (m *moments) add(x float64) {
	m.n, m.sum, m.sq = m.n*fading+1, m.sum*fading+x, m.sq*fading+x*x
}

func (m *moments) merge(o moments) { m.n, m.sum, m.sq = m.n+o.n, m.sum+o.sum, m.sq+o.sq }

// statistics is a cell of the table ST: mean and deviation of execution times, and the mean progress per second.
type statistics struct {
	mean, dev float64 // NaN if nothing has finished
	rate      float64 // 0 if nothing runs
	rated     float64
	nodes     int // that are well, and have such tasks
}

// isReference reports whether a node can be compared with those of a cell. One that is alone there would be compared with itself.
func (c *statistics) isReference() bool { return c.nodes >= 2 && c.rate > 0 }

// track is the attempt at a task that was seen last.
type track struct {
	number   int
	seen     bool
	at       time.Duration
	paused   time.Duration // until then
	progress float64
	rate     float64 // progress per second in the latest epoch
	share    float64 // of a whole task's work
	rated    bool
	own      float64 // its rate in earlier epochs, of those in which it got on well; 0: there was none
}

// sane makes a progress a number from 0 to 1.
func sane(p float64) float64 {
	if !(p > 0) { // nor NaN
		return 0
	}
	return min(p, 1)
}

// share returns which part of a whole task's work an attempt does.
func share(x *stage.Running) float64 {
	if !(x.Share > 0) {
		return 1
	}
	return x.Share
}

// Ended implements stage.Speculator.
func (e *ESplash) Ended(s stage.Stage, node int, took time.Duration) {
	if node < 0 || int(s) >= stages {
		return
	}
	e.know(node)
	e.nodes[node].done[s].add(max(took.Seconds(), 1e-3))
}

func (e *ESplash) know(node int) {
	for node >= len(e.nodes) {
		e.nodes = append(e.nodes, performance{})
	}
	for node >= len(e.classes) {
		e.classes = append(e.classes, 0)
	}
}

// Detects implements stage.Detector: it takes two looks at a task to see how fast that gets on.
func (e *ESplash) Detects() time.Duration { return 2 * epoch }

// Round implements stage.Speculator: it proposes the copy that is expected to win most time, if any, or as many as the ResourceManager has
// containers for.
func (e *ESplash) Round(r *stage.Round) []stage.Copy {
	for i := range r.Running {
		e.know(max(0, r.Running[i].Node))
	}
	e.know(max(0, len(r.Slots)-1))
	if !e.begun {
		e.begun, e.at, e.classified = true, r.Now, r.Now-reclassify
	}
	if r.Classes != nil {
		e.follow(r.Classes)
	} else if r.Now-e.classified >= reclassify {
		e.classified = r.Now
		e.classes, e.highest = speedclass.Cluster(e.vectors(), speedclass.Most)
	}
	e.summarize()
	if r.Now-e.at >= epoch {
		e.measure(r)
		e.judge(r)
		e.at = r.Now
	}
	e.hold(r)
	copies := 0
	e.found = e.found[:0]
	for i := range r.Running {
		x := &r.Running[i]
		if x.Attempts > 1 {
			copies++
		}
		if x.Attempts != 1 || !e.straggles(x.Node) || !e.rated(x.ID) {
			continue
		}
		if minL, value := e.plan(r.Now, x); value > 0 {
			e.found = append(e.found, stage.Copy{Of: x.ID, MinClass: minL, Value: value})
		}
	}
	return most(e.found, r.Copies-copies/2, r.Copies)
}

// follow takes classes that another has decided.
func (e *ESplash) follow(classes []int) {
	e.highest = 0
	for i := range e.classes {
		e.classes[i] = 0
		if i < len(classes) {
			e.classes[i] = max(0, classes[i])
		}
		e.highest = max(e.highest, e.classes[i])
	}
}

func (e *ESplash) vectors() []speedclass.Vector {
	out := make([]speedclass.Vector, len(e.nodes))
	for i := range e.nodes {
		for s, m := range e.nodes[i].done {
			out[i][s] = m.sum / m.n // NaN if there are none
		}
	}
	return out
}

// summarize computes means and deviations of the table (5.2.2, ST).
func (e *ESplash) summarize() {
	for len(e.table) <= e.highest {
		e.table = append(e.table, [stages]statistics{})
	}
	e.table = e.table[:e.highest+1]
	for s := range stages {
		sums := make([]moments, e.highest+1)
		for i := range e.nodes {
			m := e.nodes[i].done[s]
			sums[0].merge(m)
			if l := e.classes[i]; l > 0 {
				sums[l].merge(m)
			}
		}
		for l, m := range sums {
			c := &e.table[l][s]
			c.mean = m.sum / m.n
			c.dev = max(math.Sqrt(max(0, m.sq/m.n-c.mean*c.mean)), leastDev*c.mean)
		}
	}
}

func (e *ESplash) track(id stage.AttemptID) *track {
	list := &e.tasks[id.Stage]
	for id.Index >= len(*list) {
		*list = append(*list, track{})
	}
	return &(*list)[id.Index]
}

// measure notes how fast tasks have got on since the latest epoch.
func (e *ESplash) measure(r *stage.Round) {
	for l := range e.table {
		for s := range e.table[l] {
			e.table[l][s].rate, e.table[l][s].rated = 0, 0
		}
	}
	for i := range r.Running {
		x := &r.Running[i]
		t := e.track(x.ID)
		now := track{
			number: x.ID.Number, seen: true, at: r.Now, paused: x.Paused, progress: sane(x.Progress),
			share: share(x),
		}
		if t.seen && t.number == x.ID.Number && t.share == now.share {
			now.own = t.own
		}
		if worked := r.Now - t.at - (x.Paused - t.paused); t.seen && t.number == x.ID.Number && t.share == now.share && worked > 0 && !x.Waits {
			now.rated = true
			now.rate = max(0, now.progress-t.progress) / worked.Seconds()
			for _, l := range []int{0, e.classes[x.Node]} {
				c := &e.table[l][x.ID.Stage]
				c.rate, c.rated = c.rate+now.rate*now.share, c.rated+1
				if e.classes[x.Node] == 0 {
					break
				}
			}
		} else if x.Attempts > 1 && t.seen && t.at == r.Now {
			continue // a copy of what was seen just now
		}
		*t = now
	}
	for l := range e.table {
		for s := range e.table[l] {
			if c := &e.table[l][s]; c.rated > 0 {
				c.rate /= c.rated
			}
		}
	}
}

// judge updates straggler values (5.2.2, SV).
func (e *ESplash) judge(r *stage.Round) {
	e.sums, e.running = slices.Grow(e.sums[:0], len(e.nodes))[:len(e.nodes)], slices.Grow(e.running[:0],
		len(e.nodes))[:len(e.nodes)]
	clear(e.sums)
	clear(e.running)
	e.attend(r)
	for i := range r.Running {
		x := &r.Running[i]
		t := e.track(x.ID)
		if !t.rated || t.number != x.ID.Number {
			continue // it has just begun
		}
		e.sums[x.Node] += e.deficit(r.Now, x, t)
		e.running[x.Node]++
		e.remember(x, t)
	}
	for i := range e.nodes {
		n := &e.nodes[i]
		if e.running[i] == 0 {
			continue // nothing shows that it has recovered
		}
		n.value += weight * (e.sums[i]/float64(e.running[i]) - n.value)
		n.straggles = n.value > threshold
	}
}

// attend counts, for each class and stage, the nodes that are well and have tasks of which the pace is known.
func (e *ESplash) attend(r *stage.Round) {
	for l := range e.table {
		for s := range e.table[l] {
			e.table[l][s].nodes = 0
		}
	}
	e.present = slices.Grow(e.present[:0], len(e.nodes))[:len(e.nodes)]
	clear(e.present)
	for i := range r.Running {
		x := &r.Running[i]
		if l := e.classes[x.Node]; l > 0 && l < len(e.table) && !e.straggles(x.Node) && e.rated(x.ID) && !e.present[x.Node][x.ID.Stage] {
			e.present[x.Node][x.ID.Stage] = true
			e.table[l][x.ID.Stage].nodes++
		}
	}
}

// beside returns the nearest class to another one that nodes can be compared with, a higher one first; 0: there is none.
func (e *ESplash) beside(class int, s stage.Stage) int {
	for d := 1; d < len(e.table); d++ {
		for _, l := range []int{class + d, class - d} {
			if l > 0 && l < len(e.table) && e.table[l][s].isReference() {
				return l
			}
		}
	}
	return 0
}

// remember notes how an attempt gets on, beside what the nearest class does and by itself. Its progress while it is slow isn't the base
// of later comparisons.
func (e *ESplash) remember(x *stage.Running, t *track) {
	if !(t.rate > 0) {
		return
	}
	if t.own == 0 {
		t.own = t.rate
	} else if sluggish*t.rate > t.own {
		t.own += weight * (t.rate - t.own)
	}
	to := e.beside(e.classes[x.Node], x.ID.Stage)
	if to == 0 {
		return
	}
	times := t.rate * share(x) / e.table[to][x.ID.Stage].rate
	switch p := &e.nodes[x.Node].pace[x.ID.Stage]; {
	case p.to != to:
		*p = pace{to, times}
	case sluggish*times > p.times:
		p.times += weight * (times - p.times)
	}
}

// alone returns the deficit of an attempt on a node of a class that it can't be compared with: it is a class of few nodes, or its others are not well. Perhaps the node
// was ill when classes were found, and is a slow kind of node for that reason. So the attempt is compared with the nearest class, at the node's own
// pace beside that, and with its own earlier pace, unless that class has become as slow. It is 0 if neither is known.
func (e *ESplash) alone(now time.Duration, x *stage.Running, t *track) (sum float64) {
	slower := func(reference, rate float64) float64 {
		if !(rate > 0) {
			return bound
		}
		return min(reference/rate, bound)
	}
	most := bound
	if p := e.nodes[x.Node].pace[x.ID.Stage]; p.to > 0 && p.to < len(e.table) && e.table[p.to][x.ID.Stage].isReference() {
		c := &e.table[p.to][x.ID.Stage]
		most = slower(p.times*c.rate, t.rate*share(x))
		sum = max(0, most-1)
		mean, dev := c.mean/p.times, c.dev/p.times
		if est := estimate(x.Elapsed(now), sane(x.Progress)) / share(x); est > mean { // not if the mean is NaN
			sum += min((est-mean)/dev, bound)
		}
	}
	if t.own > 0 {
		sum += max(0, min(most, slower(t.own, t.rate))-1)
	}
	return min(sum, 2*bound-1)
}

// deficit returns what a task adds to its node's straggler value: by how many deviations it takes longer than the mean, and how
// many times more slowly it gets on than others.
func (e *ESplash) deficit(now time.Duration, x *stage.Running, t *track) float64 {
	class := e.classes[x.Node]
	if class > 0 && !e.table[class][x.ID.Stage].isReference() {
		return max(e.alone(now, x, t), e.ofClass(now, x, t))
	}
	return e.ofClass(now, x, t)
}

// ofClass returns the deficit of an attempt beside those of its class, or of all nodes if it has none.
func (e *ESplash) ofClass(now time.Duration, x *stage.Running, t *track) float64 {
	class := e.classes[x.Node]
	ratio := 1.
	rate := e.table[class][x.ID.Stage].rate
	if rate == 0 {
		rate = 1 / e.table[0][x.ID.Stage].mean // nothing moves: that of what has finished, if anything has
	}
	if rate > 0 {
		ratio = bound
		if t.rate > 0 {
			ratio = min(rate/(t.rate*share(x)), bound)
		}
	}
	if class == 0 {
		// It has finished nothing, and may be a slow one that works as it always does. Only one that hardly moves straggles.
		if ratio < bound {
			return 0
		}
		return 2*bound - 1
	}
	sum := max(0, ratio-1)
	c := &e.table[class][x.ID.Stage]
	if est := estimate(x.Elapsed(now), sane(x.Progress)) / share(x); est > c.mean { // not if the mean is NaN
		sum += min((est-c.mean)/c.dev, bound)
	}
	return sum
}

// estimate is EstT: how long a task takes that has got so far in a time, in seconds.
func estimate(elapsed time.Duration, progress float64) float64 {
	if progress <= 0 {
		return forever
	}
	return min(elapsed.Seconds()/progress, forever)
}

// remaining is EstEnd − now, in seconds.
func (e *ESplash) remaining(now time.Duration, x *stage.Running) float64 {
	p := sane(x.Progress)
	left := max(0, estimate(x.Elapsed(now), p)-x.Elapsed(now).Seconds())
	if t := e.track(x.ID); e.rated(x.ID) && p < 1 {
		left = max(left, min((1-p)/t.rate, forever)) // for ever at a rate of 0
	}
	return left
}

// rated reports whether a task has run long enough for its estimate to mean anything.
func (e *ESplash) rated(id stage.AttemptID) bool {
	t := e.track(id)
	return t.rated && t.number == id.Number
}

func (e *ESplash) straggles(node int) bool {
	return node >= 0 && node < len(e.nodes) && e.nodes[node].straggles
}

// hold counts the containers that classes can give to copies.
func (e *ESplash) hold(r *stage.Round) {
	e.count = slices.Grow(e.count[:0], e.highest+1)[:e.highest+1]
	clear(e.count)
	for i, n := range r.Slots {
		if l := e.classes[i]; l > 0 && !e.straggles(i) {
			e.count[l] += float64(n)
		}
	}
}

// plan returns the least class for a copy, and what it is expected to win in seconds; 0 if it isn't worth while.
func (e *ESplash) plan(now time.Duration, x *stage.Running) (minL int, value float64) {
	means, left := e.means(x), e.remaining(now, x)
	if minL, value = leastClass(e.count, means, max(1, e.classes[x.Node]), left); minL == 0 {
		minL, value = leastClass(e.count, means, 1, left)
	}
	return minL, value
}

// means is EstT by class, of an attempt's work; NaN where nothing has finished.
func (e *ESplash) means(x *stage.Running) []float64 {
	e.sums = e.sums[:0]
	for l := range e.table {
		e.sums = append(e.sums, e.table[l][x.ID.Stage].mean*share(x))
	}
	return e.sums
}

// leastClass is algorithm 5.2.3, and the speculative value of section 5.2.3. containers and means are by class; means that
// aren't known are NaN, and their classes are passed over.
func leastClass(containers, means []float64, from int, remaining float64) (minL int, value float64) {
	best := math.Inf(1)
	var here, gain float64 // Σ C(m) and Σ C(m)·EstT(m), of the classes from l on
	for l := len(containers) - 1; l >= from; l-- {
		if c := containers[l]; c > 0 && !math.IsNaN(means[l]) {
			here, gain = here+c, gain+c*means[l]
		} else {
			continue
		}
		// With equal expectations the lower class has more containers.
		if expected := gain / here; expected <= best {
			best, minL = expected, l
		}
	}
	if minL == 0 {
		return 0, 0
	}
	var win, all float64
	for l := 1; l < len(containers); l++ {
		all += containers[l]
		if l >= minL && containers[l] > 0 && !math.IsNaN(means[l]) {
			win += containers[l] * (remaining - means[l])
		}
	}
	return minL, win / all
}

// Worth implements stage.Speculator.
func (e *ESplash) Worth(_ stage.Copy, now time.Duration, x stage.Running, node int) bool {
	if !e.straggles(x.Node) || !e.rated(x.ID) {
		return false // its node has recovered
	}
	minL, value := e.plan(now, &x)
	if value <= 0 || node < 0 {
		return value > 0
	}
	if node >= len(e.classes) || e.straggles(node) || e.classes[node] < minL || minL == 0 {
		return false
	}
	return cmp.Compare(e.remaining(now, &x), e.table[e.classes[node]][x.ID.Stage].mean*share(&x)) > 0
}

// Class returns the class of a node, and whether it straggles; 0 if it has finished nothing yet.
func (e *ESplash) Class(node int) (class int, straggles bool) {
	if node < 0 || node >= len(e.classes) {
		return 0, false
	}
	return e.classes[node], e.straggles(node)
}
