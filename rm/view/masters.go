package view

import "heddle/rm/ledger"

// Delay is the number of measurements and their sum.
type Delay struct{ Count, Total int64 } // Total is in ms

// Mean returns the mean in ms; 0 without measurements.
func (d Delay) Mean() float64 {
	if d.Count == 0 {
		return 0
	}
	return float64(d.Total) / float64(d.Count)
}

func (d *Delay) add(from, to int64) {
	if from > 0 && to > 0 {
		d.Count++
		d.Total += max(0, to-from)
	}
}

// MasterDelays are the steps of the ApplicationMasters of all applications in the ledger: from the attempt's start until
// it has a container, from then until that is launched, and from then until it has registered.
type MasterDelays struct{ Granted, Launched, Registered Delay }

// Masters returns the delays of ApplicationMasters.
func (v *Viewer) Masters() (m MasterDelays) {
	v.eachApp(func(a *ledger.Application) bool {
		for _, t := range a.Attempts {
			granted := grantedMaster(a, t)
			m.Granted.add(t.StartTime, granted)
			m.Launched.add(granted, t.LaunchTime)
			m.Registered.add(t.LaunchTime, t.RegisterTime)
		}
		return true
	})
	return m
}

// lastPast is the number of an application's last ended containers among which the ApplicationMaster's is looked for: it is usually
// the last.
const lastPast = 8

// grantedMaster returns when the container of an attempt's ApplicationMaster was granted, 0 if unknown.
func grantedMaster(a *ledger.Application, t *ledger.Attempt) int64 {
	if c := a.Containers.Get(t.AMContainer); c != nil {
		return c.Allocated
	}
	n := 0
	for c := range a.Past.Newest() {
		if c.ID == t.AMContainer {
			return c.Allocated
		}
		if n++; n == lastPast {
			break
		}
	}
	return 0
}
