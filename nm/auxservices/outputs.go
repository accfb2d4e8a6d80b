package auxservices

import (
	"heddle/nm/heartbeat"
	"heddle/nm/shuffle"
	"heddle/yarn/records"
)

// lineage makes one count of the versions of shuffles that follow each other.
type lineage struct {
	of   *shuffle.Service
	base int64 // what the versions of the present one begin at
	last int64 // the highest that was given out
}

// outputs are those of whichever shuffle there is.
type outputs struct{ s *Services }

var _ heartbeat.Outputs = outputs{}

// Outputs returns those of maps that the node serves; nil if it never has a shuffle.
func (s *Services) Outputs() heartbeat.Outputs {
	if s.manifest == nil && len(s.own) == 0 {
		return nil
	}
	return outputs{s}
}

// present returns the shuffle, and at what its versions begin; nil: there is none.
func (o outputs) present() (*shuffle.Service, int64) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	l := &o.s.totals
	for _, own := range o.s.own {
		if l.of != own {
			l.of, l.base = own, l.last
		}
		return own, l.base
	}
	return nil, 0
}

func (o outputs) ContainerEnded(app records.ApplicationID) {
	if own, _ := o.present(); own != nil {
		own.ContainerEnded(app)
	}
}

func (o outputs) Totals(after int64, most int) (list []shuffle.Total, upTo int64) {
	own, base := o.present()
	if own == nil {
		return nil, after
	}
	list, upTo = own.Totals(max(0, after-base), most)
	upTo += base
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	o.s.totals.last = max(o.s.totals.last, upTo)
	return list, upTo
}

func (o outputs) FetchRate() int64 {
	if own, _ := o.present(); own != nil {
		return own.FetchRate()
	}
	return 0
}
