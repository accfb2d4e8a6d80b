package slowstart

import "heddle/am/stage"

// Fraction lets reduces begin when this part of the maps is done.
type Fraction float64

// Due implements stage.Starter.
func (f Fraction) Due(s *stage.Facts) bool {
	return float64(s.Maps.Done) >= float64(f)*float64(s.Maps.Tasks)
}

// AfterMaps lets reduces begin when this part of the maps is done and all others run: reduces only wait at first, and must not
// take the places of maps.
type AfterMaps float64

// Due implements stage.Starter.
func (f AfterMaps) Due(s *stage.Facts) bool { return s.Maps.Waiting == 0 && Fraction(f).Due(s) }
