package slowstart

import "heddle/am/stage"

// Fraction lets reduces begin when this part of the maps is done.
type Fraction float64

// Due implements stage.Starter.
func (f Fraction) Due(s *stage.Facts) bool {
	return float64(s.Maps.Done) >= float64(f)*float64(s.Maps.Tasks)
}

// Ramp lets reduces begin as its Fraction does, but not all at once.
type Ramp struct{ Fraction }

// rampUp is the part of the slots that reduces have at most as long as maps wait (Hadoop: yarn.app.mapreduce.am.job.reduce.rampup.limit).
const rampUp = 0.5

// Most implements stage.Limiter, as Hadoop does (RMContainerAllocator.scheduleReduces): as long as maps wait, reduces have that part of the
// slots which maps that are done are of all, a half at most, and what maps don't need. One may begin even if it is less than a slot.
func (Ramp) Most(f *stage.Facts) int {
	part := min(rampUp, float64(f.Maps.Done)/float64(max(1, f.Maps.Tasks)))
	return max(1, int(part*float64(f.Slots)), f.Slots-f.Maps.Waiting-f.Maps.Running)
}

// AfterMaps lets reduces begin when this part of the maps is done and all others run: reduces only wait at first, and must not
// take the places of maps.
type AfterMaps float64

// Due implements stage.Starter.
func (f AfterMaps) Due(s *stage.Facts) bool { return s.Maps.Waiting == 0 && Fraction(f).Due(s) }
