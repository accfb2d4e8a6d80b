// Package speed keeps the cluster-wide performance vectors of eSplash (section 5.2.1): how long tasks take on each node, by type, as
// reported by ApplicationMasters of Heddle's library. By these it sorts nodes into classes (internal/speedclass), and tells
// ApplicationMasters which classes have changed.
//
// Tasks of different applications take different times. So each application's times are compared with each other only: a node is as much
// slower as an application's tasks took longer there than on other nodes, by the reports of all applications on those. These are two
// unknowns, a size for each application and a slowness for each node, found in rounds.
//
// Reports may be false. The package ignores numbers out of bounds, and unknown nodes; it bounds each difference; all reports of one user's
// applications on a node count as one voice; and a node's slowness is the median of the voices. So one user's reports count little where
// others have run tasks too. Reports fade, and a user's reports on a node lapse when no new one has come for hours.
//
// All of it is soft state: a new leader begins with nothing, and ApplicationMasters report again.
//
// Sorting takes long. So it works on copies, beside the leader's loop and its heartbeats (Due, Sort); these read what the latest one found.
package speed

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"heddle/internal/speedclass"
	"heddle/yarn/records"
)

// Type is a type of tasks.
type Type uint8

// Types of tasks.
const (
	Map    Type = iota
	Reduce      // from its shuffle on
	types  = speedclass.Types
)

// Report is how long tasks of one type of an application have taken on a node, in all.
type Report struct {
	Host  string
	Type  Type
	Tasks int64
	Mean  float64 // seconds
}

// Class is that of a node: higher ones are faster. 0 is none.
type Class struct {
	Host  string
	Class int32
}

// Bounds of what is kept and accepted.
const (
	MaxPerCall = 1000             // reports
	maxApps    = 256              // whose reports are kept: those that were heard of last
	interval   = 10 * time.Second // between two sortings
	seldom     = 20               // times as long as a sorting took passes until the next one, at least
	lifetime   = 6 * time.Hour    // of a report that isn't renewed
	halfLife   = time.Hour        // after which a report counts half
	minMean    = 1e-3             // seconds
	maxMean    = 1e6
	most       = 4   // ln of the largest difference between two nodes: 55 times
	heavy      = 100 // tasks: more of them count no more
	rounds     = 3   // in which sizes and slowness are found
	grain      = .05 // nodes that differ by less are alike, in ln
)

// Speeds are those of a cluster's nodes. Its methods may be called by any goroutine.
type Speeds struct {
	now   func() time.Time
	began time.Time
	fixed func(host string) float64 // its speed by the configuration; 0: there is none

	mu      sync.Mutex
	index   map[string]int // by host, of those that are there
	hosts   []host
	free    []int
	apps    map[records.ApplicationID]*app
	dirty   bool
	next    time.Time // of a sorting
	version int64

	sorting bool // Due has said so, and Sort hasn't ended yet
	sorter  sorter
}

type host struct {
	name    string
	nodes   int // of this host, on different ports
	class   int32
	fixed   float64 // by the configuration; 0: its class is by what was measured
	came    int64   // version
	changed int64   // version
	factor  [types]float64
	refined int64 // version of factor
}

type app struct {
	user  string
	heard time.Time
	of    []seen // by index of the host
	has   [types]bool
}

// seen is what an application has seen of a node. It is small, as there may be millions.
type seen struct {
	at   [types]int32   // seconds after New
	n    [types]float32 // tasks
	mean [types]float32 // ln
}

// New returns Speeds of which nothing is known.
func New(now func() time.Time) *Speeds {
	return &Speeds{now: now, began: now(), index: map[string]int{}, apps: map[records.ApplicationID]*app{}}
}

// Fix has the classes of hosts follow the speeds that a function returns for them, compared with others, where it isn't 0. It is called before nodes join.
func (s *Speeds) Fix(fixed func(host string) float64) { s.fixed = fixed }

// Joined says that a node has come.
func (s *Speeds) Joined(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[name]
	if !ok {
		if n := len(s.free); n > 0 {
			i, s.free = s.free[n-1], s.free[:n-1]
		} else {
			i, s.hosts = len(s.hosts), append(s.hosts, host{})
		}
		s.index[name] = i
		s.version++
		s.hosts[i] = host{name: name, came: s.version, changed: s.version} // peers that know an earlier machine of this name are told that this is another
		if s.fixed != nil {
			s.hosts[i].fixed = s.fixed(name)
			s.dirty = s.dirty || s.hosts[i].fixed > 0
		}
	}
	s.hosts[i].nodes++
}

// Left says that a node has gone. When the last one of its host has, nothing is known of that any more: another machine may come under its
// name.
func (s *Speeds) Left(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[name]
	if !ok {
		return
	}
	if s.hosts[i].nodes--; s.hosts[i].nodes > 0 {
		return
	}
	delete(s.index, name)
	s.hosts[i] = host{}
	s.free = append(s.free, i)
	for _, a := range s.apps {
		if i < len(a.of) {
			a.of[i] = seen{}
		}
	}
	s.dirty = true
}

// Take records the observations of a user's application.
func (s *Speeds) Take(id records.ApplicationID, user string, reports []Report) {
	if len(reports) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, r := range reports[:min(len(reports), MaxPerCall)] {
		i, ok := s.index[r.Host]
		if !ok || r.Type >= types || r.Tasks <= 0 || !(r.Mean >= minMean && r.Mean <= maxMean) { // nor NaN
			continue
		}
		a := s.app(id, user, now)
		if i >= len(a.of) {
			a.of = slices.Grow(a.of, i+1-len(a.of))[:i+1]
		}
		x := &a.of[i]
		a.has[r.Type] = true
		x.at[r.Type], x.n[r.Type], x.mean[r.Type] = s.second(now), float32(min(r.Tasks, heavy)), float32(math.Log(r.Mean))
		s.dirty = true
	}
}

// second returns a time as seen has it.
func (s *Speeds) second(now time.Time) int32 { return int32(now.Sub(s.began) / time.Second) }

// app finds or makes what an application has seen, and drops the one that was heard of longest ago if there are too many.
func (s *Speeds) app(id records.ApplicationID, user string, now time.Time) *app {
	a := s.apps[id]
	if a == nil {
		if len(s.apps) >= maxApps {
			delete(s.apps, slices.MinFunc(slices.Collect(maps.Keys(s.apps)), func(x, y records.ApplicationID) int {
				return cmp.Or(s.apps[x].heard.Compare(s.apps[y].heard), x.Compare(y))
			}))
		}
		a = &app{user: user}
		s.apps[id] = a
	}
	a.heard = now
	return a
}

// Since returns the classes that have changed after a version, by host in no order, and the version that they are of. All that are known have
// after 0. It is part of a heartbeat: it sorts nothing.
func (s *Speeds) Since(version int64) (changed []Class, upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == s.version {
		return nil, version
	}
	news, n := func(h *host) bool { return h.changed > version && (h.class > 0 || version > 0) }, 0
	for i := range s.hosts {
		if news(&s.hosts[i]) {
			n++
		}
	}
	changed = slices.Grow(changed, n)
	for i := range s.hosts {
		if h := &s.hosts[i]; news(h) {
			changed = append(changed, Class{h.name, h.class})
		}
	}
	return changed, s.version
}

// Due reports whether something has been told since the latest sorting, and that was long enough ago. If so, the caller calls Sort, once. None
// is due again until that has ended.
func (s *Speeds) Due() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sorting || !s.dirty || s.now().Before(s.next) {
		return false
	}
	s.dirty, s.sorting = false, true
	return true
}
