// Package warming decides which nodes read which parts of MapReduce jobs' input into memory while the jobs' maps wait, and tells them
// how many still do. It is pure: the leader's loop calls it, and delivers the orders with the nodes' heartbeats.
//
// A job's input comes from the node of its ApplicationMaster ([Jobs.Learn]); how many maps wait for a host from the ApplicationMaster's
// requests ([Jobs.Waiting]). MapReduce gives a container on a host to the first map of its list that has its input there. So each range
// is warmed on the one host that will come to it first if hosts take turns.
//
// It is soft state: a later leader learns it from the nodes, when they register with it.
package warming

import (
	"slices"

	"heddle/yarn/records"
)

// Bounds of what nodes say, and of what is kept.
const (
	maxSplits = 20_000
	maxJobs   = 1_000
	maxAll    = 500_000 // splits of all jobs
	maxStaged = 1_000   // words of a heartbeat on how much is in memory
)

// MapPriority is the priority of the requests for containers of waiting maps (Hadoop: RMContainerAllocator).
const MapPriority = 20

// anywhere is the name of requests for any host (Hadoop: ResourceRequest.ANY).
const anywhere = "*"

// Split is the input of a map: a range of a file, and the hosts that have it.
type Split struct {
	File           string // "": it isn't a file, but its map counts
	Offset, Length int64
	Hosts          []string
}

// Range is a part of a file that a node is to read ahead. Position is its place in the host's list of maps.
type Range struct {
	File           string
	Offset, Length int64
	Position       int
}

// Order is what a node is told of a job.
type Order struct {
	App     records.ApplicationID
	User    string
	Ranges  []Range // nil: as before
	Total   int     // maps that have their input on the host; 0: none of the job wait any more, anywhere
	Waiting int     // of these, those that haven't started; 0: nothing is to be read any more
}

// Sent is an order for a node.
type Sent struct {
	Node records.NodeID
	Order
}

// Jobs are those whose input is known. The zero value has none.
type Jobs struct {
	jobs   map[records.ApplicationID]*job
	splits int // of all of them
}

// job is what is known of a job, by host.
type job struct {
	user   string
	master records.NodeID // on which its ApplicationMaster runs
	asked  bool           // containers for maps are asked for
	splits int
	hosts  map[string]*host
	order  []string // of the hosts, as the splits name them
}

// host is a host's part of a job.
type host struct {
	node           records.NodeID
	total, waiting int
	peak           int // of the containers that were asked for at a time
	own, cached    int // maps whose input the node has in memory, and the NameNode has there
	ranges         []Range
}

// Knows reports whether the input of an application is known.
func (js *Jobs) Knows(app records.ApplicationID) bool { return js.jobs[app] != nil }

// InMemory takes for how many maps of a job the input is in memory on a host: read ahead by the node there, or cached for the NameNode. It returns the node, and for how many
// it is together; found is false if the host has no input of the job.
func (js *Jobs) InMemory(app records.ApplicationID, name string, cached bool, maps int) (node records.NodeID, together int, found bool) {
	j := js.jobs[app]
	if j == nil || j.hosts[name] == nil {
		return node, 0, false
	}
	h := j.hosts[name]
	maps = min(max(maps, 0), h.total)
	if cached {
		h.cached = maps
	} else {
		h.own = maps
	}
	return h.node, min(h.own+h.cached, h.total), true
}

// Learn takes the input of a job whose ApplicationMaster runs on a node, and returns the orders for the nodes on its hosts. Repeated words replace earlier ones.
func (js *Jobs) Learn(app records.ApplicationID, user string, master records.NodeID, splits []Split, nodeOf func(host string) (records.NodeID, bool)) []Sent {
	splits = splits[:min(len(splits), maxSplits)]
	before := js.jobs[app]
	if before == nil && (len(js.jobs) >= maxJobs || js.splits+len(splits) > maxAll) {
		return nil
	}
	j := divide(splits, nodeOf)
	if len(j.order) == 0 {
		return nil
	}
	if before != nil {
		js.splits -= before.splits
	}
	j.user, j.master, j.splits = user, master, len(splits)
	if before != nil {
		j.asked = before.asked
	}
	js.splits += j.splits
	if js.jobs == nil {
		js.jobs = map[records.ApplicationID]*job{}
	}
	js.jobs[app] = j
	var out []Sent
	for _, name := range j.order {
		h := j.hosts[name]
		if before != nil && before.hosts[name] != nil {
			b := before.hosts[name]
			h.waiting, h.peak, h.own, h.cached = min(h.waiting, b.waiting), b.peak, b.own, b.cached
		}
		if h.waiting == 0 || len(h.ranges) == 0 {
			continue
		}
		out = append(out, Sent{h.node, Order{App: app, User: user, Ranges: h.ranges, Total: h.total, Waiting: h.waiting}})
	}
	return out
}

// divide gives each split to the host that comes to it first if all take the maps of their lists in turns.
func divide(splits []Split, nodeOf func(host string) (records.NodeID, bool)) *job {
	j := &job{hosts: map[string]*host{}}
	lists := map[string][]int{}
	for i, s := range splits {
		for k, name := range s.Hosts {
			if slices.Contains(s.Hosts[:k], name) {
				continue
			}
			if lists[name] == nil {
				node, found := nodeOf(name)
				if !found {
					continue
				}
				j.order = append(j.order, name)
				j.hosts[name] = &host{node: node}
			}
			lists[name] = append(lists[name], i)
		}
	}
	for _, name := range j.order {
		j.hosts[name].total, j.hosts[name].waiting = len(lists[name]), len(lists[name])
	}
	taken := make([]bool, len(splits))
	next := map[string]int{}
	for left := slices.Clone(j.order); len(left) > 0; {
		left = slices.DeleteFunc(left, func(name string) bool {
			list, at := lists[name], next[name]
			for at < len(list) && taken[list[at]] {
				at++
			}
			if at >= len(list) {
				return true
			}
			next[name] = at + 1
			s := splits[list[at]]
			taken[list[at]] = true
			if s.File != "" && s.Length > 0 {
				h := j.hosts[name]
				h.ranges = append(h.ranges, Range{s.File, s.Offset, s.Length, at})
			}
			return false
		})
	}
	return j
}

// Waiting takes how many containers on a host an ApplicationMaster asks for, and returns the order that the host's node needs, if it needs
// one. Maps that were asked for and aren't any more have started. The requests of a large job come little by little, so that the first
// ones say nothing of how many wait; and maps that have failed are asked for again.
func (js *Jobs) Waiting(app records.ApplicationID, name string, n int) (o Sent, tell bool) {
	j := js.jobs[app]
	if j == nil {
		return o, false
	}
	n = max(n, 0)
	if name == anywhere {
		begun := n == 0 && j.asked
		j.asked = n > 0
		return Sent{j.master, Order{App: app}}, begun
	}
	h := j.hosts[name]
	if h == nil {
		return o, false
	}
	h.peak = max(h.peak, n)
	left := max(h.total-(h.peak-n), 0)
	if n == 0 && h.peak > 0 {
		left = 0
	}
	if left >= h.waiting {
		return o, false
	}
	h.waiting = left
	return Sent{h.node, Order{App: app, User: j.user, Total: h.total, Waiting: left}}, len(h.ranges) > 0
}

// End forgets an application that has ended, and returns the orders that end what nodes do for it.
func (js *Jobs) End(app records.ApplicationID) []Sent {
	j := js.jobs[app]
	if j == nil {
		return nil
	}
	delete(js.jobs, app)
	js.splits -= j.splits
	var out []Sent
	for _, name := range j.order {
		if h := j.hosts[name]; h.waiting > 0 && len(h.ranges) > 0 {
			out = append(out, Sent{h.node, Order{App: app}})
		}
	}
	return out
}
