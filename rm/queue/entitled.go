package queue

import (
	"math"
	"slices"
	"strings"

	"heddle/rm/queue/label"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/template"
	"heddle/yarn/records"
)

// spare is how much less than its template's capacity a legacy leaf finds left, as a share of the cluster, and still gets it (Hadoop: CSQueueUtils.EPSILON).
const spare = 1e-4

// Rooms is a template.Rooms.
func (t *Tree) Rooms(path string) map[string]int {
	above := t.byPath[path]
	if above == nil {
		return nil
	}
	rooms := map[string]int{}
	for _, partition := range above.Creation.Partitions() {
		rooms[partition] = math.MaxInt
		if part, whole := leafPart(t, above, partition); part > 0 {
			rooms[partition] = int((whole + spare) / part)
		}
	}
	return rooms
}

// leafPart returns the part that a legacy leaf takes of the capacity of the queue above it in a partition. whole is that capacity, in the same unit.
func leafPart(t *Tree, above *Queue, partition string) (part, whole float64) {
	in := t.In(partition).queues[above.Index]
	v, _, err := quantity.ParseCapacity(above.Creation.Leaf(label.Key(partition)+"capacity"), t.types, false)
	whole = float64(in.AbsoluteCapacity)
	switch unit := v.Unit(t.types.Len()); {
	case err != nil:
	case unit == quantity.ByPercent:
		return whole * v[0].Value / 100, whole
	case unit == quantity.ByAmount:
		own := in.Vector.Amounts()
		for i, n := range v.Amounts() {
			if own[i] > 0 {
				part = max(part, float64(n)/float64(own[i]))
			}
		}
		return part, 1
	}
	return 0, whole
}

// zero returns the partitions in which a further legacy leaf of a queue gets no capacity. The error says in Hadoop's words that it isn't created, as the queue is
// configured to refuse it then.
func (t *Tree) zero(path string, above *Queue) (out []string, err error) {
	for partition, room := range t.Rooms(above.Path) {
		for _, c := range above.Children {
			if !slices.Contains(c.Zero, partition) {
				room--
			}
		}
		if room <= 0 {
			out = append(out, partition)
		}
	}
	slices.Sort(out)
	if above.Creation.Full && slices.Contains(out, "") {
		return out, inWords("Cannot auto create leaf queue %s. Child queues capacities have reached parent queue : %s's guaranteed capacity", path, above.Path)
	}
	return out, nil
}

// Entitling returns a tree whose created queues have other entitlements: template.Entitled has made list of Created. It returns the tree itself if nothing
// differs.
func (t *Tree) Entitling(list []template.Created) (*Tree, error) {
	same := func(a, b template.Created) bool { return slices.Equal(a.Zero, b.Zero) }
	if slices.EqualFunc(t.Created, list, same) {
		return t, nil
	}
	return t.changed(func(p *maker, at copies) (touched []*Queue, created []template.Created) {
		for i, c := range list {
			if same(c, t.Created[i]) {
				continue
			}
			old := at.find(c.Path)
			q := p.created(old.Parent, old.Name, c)
			q.Stopped = old.Stopped
			q.left = leavingsOf(old, c.Zero)
			old.Parent.Children[slices.Index(old.Parent.Children, old)], at.more[c.Path] = q, q
			touched = append(touched, old.Parent)
		}
		return touched, list
	})
}

// leavings hold what a legacy leaf shows of its former entitlement until queues are made or read the next time: YARN computes its limit on applications, which holds
// none, and its maximum then (Hadoop: AutoCreatedLeafQueue.mergeCapacities).
type leavings struct {
	known        bool
	all, perUser int32
	lost         []string // partitions in which it has lost its capacity
}

func leavingsOf(old *Queue, zero []string) leavings {
	l := leavings{known: true, all: old.MaxApplications, perUser: old.MaxApplicationsPerUser}
	if old.left.known {
		l.all, l.perUser = old.left.all, old.left.perUser
	}
	for _, partition := range zero {
		if !slices.Contains(old.Zero, partition) || slices.Contains(old.left.lost, partition) {
			l.lost = append(l.lost, partition)
		}
	}
	return l
}

// Shown returns a queue's share of a partition as YARN shows it: a legacy leaf that has just lost its capacity has no maximum.
func (q *Queue) Shown(partition string, s Share) Share {
	if q.left.known {
		s.MaxApplications, s.MaxApplicationsPerUser = q.left.all, q.left.perUser
	}
	if slices.Contains(q.left.lost, partition) {
		s.Max, s.AbsoluteMaximum = records.Resource{}, 0
	}
	return s
}

// CountLabels raises limits on applications to what queues' amounts, or vectors, in partitions allow, whose sizes are given by label: the largest of a queue's shares counts.
func CountLabels(t *Tree, shares []Share, sizes map[string]records.Resource) {
	for _, name := range t.labels {
		in := t.partitions[name]
		if !in.vector && !slices.ContainsFunc(in.queues, func(q *Queue) bool {
			return q.Parent != nil && q.Unit == quantity.ByAmount && !q.Vector.Amounts().IsZero()
		}) {
			continue
		}
		for i, s := range in.Effective(sizes[name]) {
			all, perUser := t.queues[i].applicationsOf(s.AbsoluteCapacity)
			shares[i].MaxApplications, shares[i].MaxApplicationsPerUser = max(shares[i].MaxApplications, all), max(shares[i].MaxApplicationsPerUser, perUser)
		}
	}
}

// checkLeaves checks what legacy leaves of a queue get (Hadoop: ManagedParentQueue.initializeLeafQueueConfigs).
func checkLeaves(p *parser, q *Queue) {
	key := q.Path + ".auto-create-child-queue.management-policy"
	if policy := strings.TrimSpace(p.settings[key]); policy != "" && !strings.HasSuffix(policy, ".GuaranteedOrZeroCapacityOverTimePolicy") {
		p.fail(key, policy, "Heddle has GuaranteedOrZeroCapacityOverTimePolicy alone")
	}
	check := func(name string, weights bool) {
		text := q.Creation.Leaf(name)
		if text == "" || !weights && text == "-1" {
			return
		}
		key := q.Path + "." + template.LeafPrefix + name
		v := p.quantity(key, text, weights)
		if !p.vector && name == "capacity" && v.Unit(p.types.Len()) == quantity.ByAmount && q.Unit != quantity.ByAmount && !v.Amounts().IsZero() {
			p.fail(key, text, "it is an amount of resources below "+q.Path+", whose capacity is none")
		}
	}
	for _, partition := range q.Creation.Partitions() {
		check(label.Key(partition)+"capacity", true)
		check(label.Key(partition)+"maximum-capacity", false)
	}
}
