package whatif

import (
	"cmp"
	"maps"
	"slices"

	"heddle/sim/whatif/load"
)

// Figures sum up what became of some applications. Times are in seconds.
type Figures struct {
	Apps       int        `json:"apps"`       // that ended
	Containers int64      `json:"containers"` // that they were granted
	Wait       Percentile `json:"wait"`       // of containers, from the request to the grant
	Time       Percentile `json:"time"`       // of applications, from submission to end
	Share      float64    `json:"share"`      // of the memory that nodes offered within the record's time, 0 to 1
	Preempted  int64      `json:"preempted"`  // containers that preemption killed
	Lost       float64    `json:"lost"`       // seconds that these, and those of lost nodes, had run
	Suspended  int64      `json:"suspended"`  // suspensions
	Standstill float64    `json:"standstill"` // seconds for which containers were suspended
	Memory     float64    `json:"memory"`     // MB · s
	Cores      float64    `json:"cores"`      // vcores · s
	Unended    int        `json:"unended"`    // applications that can't end
}

// Percentile has percentiles of times in seconds, by the nearest rank.
type Percentile struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// at is a percentile of sorted numbers, by the nearest rank; 0 of none.
func at[N int32 | int64 | float64](sorted []N, part float64) N {
	if len(sorted) == 0 {
		return 0
	}
	i := int(part*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// group is some applications.
type group struct {
	name string
	apps []int
}

// groups orders applications by a name of each.
func groups(apps []load.App, name func(*load.App) string) []group {
	by := map[string][]int{}
	for i := range apps {
		n := name(&apps[i])
		by[n] = append(by[n], i)
	}
	out := make([]group, 0, len(by))
	for _, n := range slices.Sorted(maps.Keys(by)) {
		out = append(out, group{n, by[n]})
	}
	return out
}

// whole reports whether it is known how long an application took.
func whole(a *load.App) bool { return !a.Before && !a.Cut && a.Then.End >= 0 }

// figures sums up a group. Only applications that began and ended within the record count for times.
func figures(apps []load.App, outcomes []load.Outcome, of []int, capacityMS int64) Figures {
	var f Figures
	var waits []int32
	var times []int64
	var within int64
	for _, i := range of {
		o := &outcomes[i]
		f.add(o)
		within += o.WithinMS
		waits = append(waits, o.Waits...)
		if !whole(&apps[i]) {
			continue
		}
		if o.End < 0 {
			f.Unended++
			continue
		}
		f.Apps++
		times = append(times, o.End-apps[i].Submit)
	}
	f.Wait, f.Time = percentiles(waits), percentiles(times)
	f.Share = share(within, capacityMS)
	return f
}

// partFigures sums up a partition. Applications, and their times, aren't one's.
func partFigures(o *load.Outcome, capacityMS int64) (f Figures) {
	f.add(o)
	f.Wait, f.Share = percentiles(slices.Clone(o.Waits)), share(o.WithinMS, capacityMS)
	return f
}

// add adds what an outcome counts.
func (f *Figures) add(o *load.Outcome) {
	f.Containers += int64(o.Containers)
	f.Preempted += int64(o.Preempted)
	f.Suspended += int64(o.Suspended)
	f.Lost += seconds(o.LostMS)
	f.Standstill += seconds(o.SuspendMS)
	f.Memory += seconds(o.MemoryMS)
	f.Cores += seconds(o.CoreMS)
}

// percentiles sorts times in ms.
func percentiles[N int32 | int64](ms []N) Percentile {
	slices.Sort(ms)
	return Percentile{seconds(at(ms, .5)), seconds(at(ms, .9)), seconds(at(ms, .99))}
}

// share returns the part of what nodes offered, 0 to 1.
func share(within, capacityMS int64) float64 {
	if capacityMS <= 0 {
		return 0
	}
	return float64(within) / float64(capacityMS)
}

func seconds[N int32 | int64](ms N) float64 { return float64(ms) / 1000 }

// meanWait is the mean wait of an application's containers, in seconds.
func meanWait(o *load.Outcome) float64 {
	var sum int64
	for _, w := range o.Waits {
		sum += int64(w)
	}
	return float64(sum) / 1000 / float64(max(len(o.Waits), 1))
}

// byDelta orders names by numbers, the largest first.
func byDelta(x, y *AppRow) int {
	return cmp.Or(cmp.Compare(y.After-y.Before, x.After-x.Before), cmp.Compare(x.ID, y.ID))
}
