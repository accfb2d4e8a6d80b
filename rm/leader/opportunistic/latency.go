package opportunistic

import "math/bits"

// Latency says how long opportunistic containers that were granted in the last complete window had been asked for: from the ask to the grant. Without
// any, all is 0 (Hadoop: MutableQuantiles).
type Latency struct {
	Count int64
	Of    [len(Percents)]int64 // ms, for each of Percents
}

// Percents are the percentiles of a Latency.
var Percents = [...]int64{50, 75, 90, 95, 99}

// windowTime is how long a window takes, in ms. Windows follow each other from the leadership's first grant.
const windowTime = 10_000

// latencies count times in buckets: of 1 ms up to 2·fine ms, and then fine to each doubling, 1.6 % wide at most.
type latencies struct {
	begun  int64 // ms since 1970, of the window that lasts; 0: there was no grant
	counts []int64
	count  int64
	last   Latency
}

const fine = 64

func bucketOf(ms int64) int {
	ms = max(ms, 0)
	shift := max(bits.Len64(uint64(ms))-bits.Len(2*fine-1), 0)
	return shift*fine + int(ms>>shift)
}

// leastIn returns the shortest time of a bucket.
func leastIn(bucket int) int64 {
	shift := max(bucket/fine-1, 0)
	return int64(bucket-shift*fine) << shift
}

// add counts a grant.
func (l *latencies) add(ms, now int64) {
	l.roll(now)
	if l.begun == 0 {
		l.begun = now
	}
	b := bucketOf(ms)
	for len(l.counts) <= b {
		l.counts = append(l.counts, 0)
	}
	l.counts[b]++
	l.count++
}

// roll ends windows whose time is over.
func (l *latencies) roll(now int64) {
	past := (now - l.begun) / windowTime
	if l.begun == 0 || past <= 0 {
		return
	}
	l.last = Latency{}
	if past == 1 {
		l.last = l.summary()
	}
	clear(l.counts)
	l.count = 0
	l.begun += past * windowTime
}

func (l *latencies) summary() (out Latency) {
	out.Count = l.count
	var below int64
	at := 0
	for b, n := range l.counts {
		below += n
		for at < len(Percents) && n > 0 && below*100 >= Percents[at]*l.count {
			out.Of[at] = leastIn(b)
			at++
		}
	}
	return out
}
