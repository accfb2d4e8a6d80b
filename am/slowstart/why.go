package slowstart

import (
	"fmt"
	"math"

	"heddle/am/stage"
)

// Why implements stage.Explainer.
func (f Fraction) Why(s *stage.Facts) string {
	return fmt.Sprintf("%.0f of %d maps have to be done, and %d are", math.Ceil(float64(f)*float64(s.Maps.Tasks)),
		s.Maps.Tasks, s.Maps.Done)
}

// Why implements stage.Explainer.
func (f AfterMaps) Why(s *stage.Facts) string {
	if s.Maps.Waiting > 0 {
		return fmt.Sprintf("%d maps pending, whose places reduces must not take", s.Maps.Waiting)
	}
	return Fraction(f).Why(s)
}

// Why implements stage.Explainer.
func (o *OMO) Why(s *stage.Facts) string {
	pending := fmt.Sprintf("%d maps pending, %d running", s.Maps.Waiting, s.Maps.Running)
	if s.Maps.Done == 0 {
		return pending + "; none is done, so their duration is unknown"
	}
	if maps := o.maps(s); !math.IsInf(maps, 0) {
		start := ""
		if s.Start > 0 {
			start = fmt.Sprintf("a container's start takes %.1f s, ", s.Start.Seconds())
		}
		return fmt.Sprintf("%s; %sthe shuffle needs %.0f s, maps need %.0f s", pending, start, Shuffle(s), maps)
	}
	return fmt.Sprintf("%s; with %d reduces no container would be left to maps", pending, s.Reduces.Tasks)
}
