package copies

import (
	"heddle/rm/scheduler/handle"
	"heddle/rm/scheduler/policy/leaf"
	"heddle/yarn/records"
)

// SRPT is the ordering policy that serves the job first that has the fewest tasks left, with best-effort speculation: its copies come when it has its
// turn. Fair serves the one first that has least; unlike the scheduler's own it can put all copies last.
const (
	SRPT = "srpt"
	Fair = "fair-copies"
)

func init() {
	leaf.Register(SRPT, func() leaf.Policy { return &srpt{left: map[handle.App]int64{}} })
	leaf.Register(Fair, func() leaf.Policy { return &fair{srpt{left: map[handle.App]int64{}}} })
}

// fair goes by what an application has.
type fair struct{ srpt }

func (p *fair) Ratio(a leaf.App) float64 {
	has := float64(a.Used[records.Memory])
	if p.left[a.Handle] >= behindAll {
		has += behindAll
	}
	return has
}

// srpt goes by the tasks that ApplicationMasters report, or else by the containers that an application has and its memory that is pending.
type srpt struct {
	left    map[handle.App]int64
	changed []handle.App
}

func (p *srpt) Ratio(a leaf.App) float64 {
	if n, reported := p.left[a.Handle]; reported {
		return float64(n)
	}
	return float64(a.Used[records.Memory] + a.Pending[records.Memory])
}

func (p *srpt) Reported(a leaf.App, r leaf.TaskReport) {
	if n, known := p.left[a.Handle]; !known || n != r.Left {
		p.left[a.Handle] = r.Left
		p.changed = append(p.changed, a.Handle)
	}
}

func (p *srpt) Tick(int64, leaf.Queue) []handle.App {
	changed := p.changed
	p.changed = nil
	return changed
}

func (p *srpt) Left(a handle.App)                     { delete(p.left, a) }
func (*srpt) Cap(leaf.App) records.Resource           { return leaf.Uncapped() }
func (*srpt) Hold(leaf.Ask) (bool, int64)             { return false, 0 }
func (*srpt) Granted(leaf.App, leaf.Grant)            {}
func (*srpt) Ended(leaf.App, leaf.Node, leaf.Outcome) {}
