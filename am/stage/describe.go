package stage

import "fmt"

// Description says why a job does what it does, for people.
type Description struct {
	Reduces string // what reduces wait for; "" if none waits
	Nodes   []NodeState
}

// NodeState describes a node on which the job has had slots.
type NodeState struct {
	Name      string
	Slots     int // now
	Failures  int
	Avoided   bool
	Away      bool // nothing there answers
	Class     int  // of speed, higher ones are faster; 0: it isn't known
	Straggles bool
}

// Explainer is a Starter that can say why reduces aren't due. It says what they wait for, as in "12 maps pending".
type Explainer interface{ Why(f *Facts) string }

// Classifier is a Speculator that knows classes of nodes.
type Classifier interface {
	Class(node int) (class int, straggles bool)
}

// Describe describes where a job is. The result belongs to the caller.
func Describe(m *Planner) Description {
	var d Description
	if waiting := m.tables[Reduce].count[waiting]; waiting > 0 && !m.over {
		switch e, ok := m.job.Starter.(Explainer); {
		case m.due:
			d.Reduces = fmt.Sprintf("%d wait for containers", waiting)
		case ok:
			d.Reduces = e.Why(m.Facts())
		}
	}
	classes, _ := m.job.Speculator.(Classifier)
	for i := range m.nodes {
		n := &m.nodes[i]
		if n.most == 0 && n.strikes == 0 {
			continue
		}
		x := NodeState{Name: n.name, Slots: n.slots, Failures: n.strikes, Avoided: n.bad, Away: n.away}
		if classes != nil {
			x.Class, x.Straggles = classes.Class(i)
		}
		d.Nodes = append(d.Nodes, x)
	}
	return d
}
