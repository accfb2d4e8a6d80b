package whatif

import (
	"cmp"

	"golang.org/x/sync/errgroup"

	"heddle/sim/whatif/load"
	"heddle/sim/whatif/play"
)

// others are how fast nodes are in plays of the changed configuration whose times are a little off at random, too: what such a little changes is not
// predicted. The same jobs, run again on a busy machine, took 3 to 7 % more.
var others = []float64{0.97, 0.99, 1.01, 1.03}

// playOthers returns when applications end in each of these plays, in ms; -1: never.
func playOthers(l *load.Load, o play.Options) ([][]int64, error) {
	ends := make([][]int64, len(others))
	var plays errgroup.Group
	plays.SetLimit(2) // each takes one processor, and memory
	for k := range ends {
		plays.Go(func() error {
			o := o
			o.Jitter, o.Speed = uint64(k)+1, cmp.Or(o.Speed, 1)*others[k]
			r, err := play.Run(l, o)
			if err != nil {
				return err
			}
			for i := range l.Apps {
				ends[k] = append(ends[k], r.Apps[i].End)
			}
			return nil
		})
	}
	return ends, plays.Wait()
}

// ends are the earliest and the latest end of an application that ends, in ms.
func (t *table) ends(app int) (low, high int64) {
	low, high = t.now.Apps[app].End, t.now.Apps[app].End
	for _, ends := range t.others {
		if end := ends[app]; end >= 0 {
			low, high = min(low, end), max(high, end)
		}
	}
	return low, high
}

// wider makes bars of times wider by what the median and the 90th percentile of a group's times differ by among the plays.
func (t *table) wider(g group, bars Bars) Bars {
	of := func(end func(app int) int64) Percentile {
		var times []int64
		for _, i := range g.apps {
			if a := &t.load.Apps[i]; whole(a) && end(i) >= 0 {
				times = append(times, end(i)-a.Submit)
			}
		}
		return percentiles(times)
	}
	base := of(func(app int) int64 { return t.now.Apps[app].End })
	low, high := 1.0, 1.0
	for _, ends := range t.others {
		x := of(func(app int) int64 { return ends[app] })
		for _, ratio := range []float64{max(x.P50, resolution) / max(base.P50, resolution), max(x.P90, resolution) / max(base.P90, resolution)} {
			low, high = min(low, ratio), max(high, ratio)
		}
	}
	bars.Low, bars.High = bars.Low*low, bars.High*high
	return bars
}
