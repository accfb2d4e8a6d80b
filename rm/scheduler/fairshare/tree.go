package fairshare

import (
	"strings"

	"heddle/yarn/records"
)

// Kind is how a queue divides what it has among its children, or a leaf among its applications.
type Kind uint8

// Kinds of YARN's FairScheduler. Fair divides memory and leaves the other resources at 0, as YARN's views show it; DRF
// divides each resource by itself; FIFO gives everything to the first.
const (
	Fair Kind = iota
	DRF
	FIFO
)

// KindOf returns the kind that an allocation file names; everything but drf and fifo, in any case of letters, is fair.
func KindOf(name string) Kind {
	switch strings.ToLower(name) {
	case "drf":
		return DRF
	case "fifo":
		return FIFO
	}
	return Fair
}

// Queue is a queue as the computation sees it. Weight, Min, Max, Kind and Active are what goes in, Fair and Steady what
// comes out.
type Queue struct {
	Path     string
	Kind     Kind
	Weight   float64
	Min, Max records.Resource // Max is Unlimited in types without a limit
	Active   bool             // has applications that may run; only leaves need it

	Children []*Queue
	Apps     []App // of a leaf, those that may run

	Fair   records.Resource // share among the queues that are active now
	Steady records.Resource // share if all queues were active
}

// App is an application in a leaf.
type App struct {
	Handle int32 // the caller's name for it
	Weight float64
	Start  int64            // the earliest is the first of a FIFO queue
	Fair   records.Resource // comes out
}

// Leaf reports whether a queue holds applications.
func (q *Queue) Leaf() bool { return len(q.Children) == 0 }

// Compute fills in the shares of a tree: the root has the whole cluster, children divide the share of their parent
// (Hadoop: FSParentQueue.updateInternal, recomputeSteadyShares; FSLeafQueue.updateInternal).
func (q *Queue) Compute(cluster records.Resource) {
	q.activate()
	q.Fair, q.Steady = cluster, cluster
	var scratch scratch
	q.divide(&scratch)
}

// activate marks the parents of active queues.
func (q *Queue) activate() bool {
	if q.Leaf() {
		return q.Active
	}
	q.Active = false
	for _, c := range q.Children {
		if c.activate() {
			q.Active = true
		}
	}
	return q.Active
}

// scratch is memory that the levels of a tree use one after the other.
type scratch struct {
	parties []Party
	shares  []int64
}

func (s *scratch) reset(n int) {
	if cap(s.parties) < n {
		s.parties, s.shares = make([]Party, n), make([]int64, n)
	}
	s.parties, s.shares = s.parties[:n], s.shares[:n]
}

func (q *Queue) divide(s *scratch) {
	if q.Leaf() {
		q.divideApps(s)
		return
	}
	for i, c := range q.Children {
		c.Fair, c.Steady = records.Resource{}, records.Resource{}
		if i == 0 && q.Kind == FIFO {
			c.Fair = q.Fair
		}
	}
	for _, t := range q.divided() {
		s.reset(len(q.Children))
		for i, c := range q.Children {
			s.parties[i] = Party{Weight: c.Weight, Min: c.Min[t], Max: c.Max[t], Active: c.Active}
		}
		Divide(q.Fair[t], s.parties, false, s.shares)
		for i, c := range q.Children {
			c.Fair[t] = s.shares[i]
		}
		Divide(q.Steady[t], s.parties, true, s.shares)
		for i, c := range q.Children {
			c.Steady[t] = s.shares[i]
		}
	}
	for _, c := range q.Children {
		c.divide(s)
	}
}

func (q *Queue) divideApps(s *scratch) {
	first := 0
	for i := range q.Apps {
		q.Apps[i].Fair = records.Resource{}
		if q.Apps[i].Start < q.Apps[first].Start {
			first = i
		}
	}
	if q.Kind == FIFO && len(q.Apps) > 0 {
		q.Apps[first].Fair = q.Fair
	}
	for _, t := range q.divided() {
		s.reset(len(q.Apps))
		for i := range q.Apps {
			s.parties[i] = Party{Weight: q.Apps[i].Weight, Max: Unlimited, Active: true}
		}
		Divide(q.Fair[t], s.parties, false, s.shares)
		for i := range q.Apps {
			q.Apps[i].Fair[t] = s.shares[i]
		}
	}
}

var (
	everyType = func() (all []int) {
		for i := range records.MaxResourceTypes {
			all = append(all, i)
		}
		return all
	}()
	memoryOnly = []int{records.Memory}
)

// divided returns the types of resources that a queue divides one by one.
func (q *Queue) divided() []int {
	switch q.Kind {
	case DRF:
		return everyType
	case FIFO:
		return nil
	default:
		return memoryOnly
	}
}

// NoLimit returns a Max that binds in no type.
func NoLimit() (r records.Resource) {
	for i := range r {
		r[i] = Unlimited
	}
	return r
}
