package queue

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/rm/queue/label"
	"heddle/rm/queue/quantity"
	"heddle/rm/queue/template"
	"heddle/yarn/records"
)

// capacities reads a queue's capacity and maximum. Shares of the cluster follow when all siblings are known.
func (p *parser) capacities(q *Queue) {
	none := "0"
	if q.Made == template.Flexible { // Hadoop: AbstractParentQueue.updateClusterResource
		none = "1w"
	}
	key, text := p.own(q.Path, label.Key(p.label)+"capacity", none)
	if q.Parent == nil {
		text = p.text(key, "100")
	}
	q.Vector = p.quantity(key, text, true)
	q.Unit = q.Vector.Unit(p.types.Len())
	key, text = p.own(q.Path, label.Key(p.label)+"maximum-capacity", "100")
	if text == "-1" || text == "-1.0" { // undefined
		text = "100"
	}
	q.MaximumVector = p.quantity(key, text, false)
	most := q.MaximumVector.Unit(p.types.Len())
	if !p.vector && most == quantity.ByAmount && q.Unit != quantity.ByAmount && q.Parent != nil {
		p.warn(key, text, "has no effect: the capacity isn't an amount of resources, and so the maximum can't be one")
	}
	if q.Parent == nil {
		p.rootCapacity(q)
		return
	}
	if most == quantity.ByPercent {
		q.Maximum = float32(q.MaximumVector[0].Value) / 100
	}
	q.Percent, q.Capacity, q.Weight = 0, 0, -1
	switch q.Unit {
	case quantity.ByPercent:
		q.Percent = q.Vector[0].Value
		q.Capacity = float32(q.Percent) / 100
	case quantity.ByWeight:
		q.Weight = float32(q.Vector[0].Value)
	}
}

func (p *parser) rootCapacity(q *Queue) {
	if q.Unit == quantity.ByPercent && q.Vector[0].Value != 100 {
		p.warn("root.capacity", strconv.FormatFloat(q.Vector[0].Value, 'g', -1, 64), "has no effect, as in YARN: root is the whole cluster")
		q.Vector = quantity.Uniform(100, quantity.ByPercent)
	}
	if q.Unit == quantity.ByWeight {
		q.Weight = float32(q.Vector[0].Value)
	}
	q.Maximum = 1
	if q.MaximumVector.Unit(p.types.Len()) == quantity.ByPercent {
		q.Maximum = float32(q.MaximumVector[0].Value) / 100
	}
	q.AbsoluteMaximum = q.Maximum
}

// quantity reads a capacity. A maximum can't be a weight.
func (p *parser) quantity(key, text string, weights bool) quantity.Vector {
	v, notes, err := quantity.ParseCapacity(text, p.types, !weights)
	if err != nil {
		reason := err.Error() + "; it must be a percentage, a weight such as 2w, or [memory=…,vcores=…]"
		if strings.ContainsAny(text, "[]%") {
			p.fail(key, text, reason)
		} else {
			p.failNumber(key, text, reason)
		}
		return quantity.Uniform(0, quantity.ByPercent)
	}
	for _, note := range notes {
		p.warn(key, text, note)
	}
	for _, a := range v[:p.types.Len()] {
		switch {
		case a.Unit == quantity.ByPercent && (a.Value < 0 || a.Value > 100):
			p.fail(key, text, "a percentage is from 0 to 100")
		case a.Unit == quantity.ByWeight && !weights:
			p.fail(key, text, "a maximum can't be a weight")
		}
	}
	if unit := v.Unit(p.types.Len()); !p.vector && (unit == quantity.Mixed || strings.HasPrefix(text, "[") && unit != quantity.ByAmount) {
		p.fail(key, text, "percentages and weights of single resources need "+Prefix+"legacy-queue-mode.enabled to be false")
	}
	return v
}

// precision is the tolerance for sums of percentages (Hadoop: AbstractParentQueue).
const precision = 0.0005

// shares checks the capacities of each queue's children, and computes those shares of the cluster that don't depend
// on its size.
func (p *parser) shares(q *Queue) {
	if !p.vector && len(q.Children) > 0 && !q.Creation.Legacy {
		p.sums(q)
	}
	var weights float32
	for _, c := range q.Children {
		if c.Unit == quantity.ByWeight {
			weights += c.Weight
		}
	}
	for _, c := range q.Children {
		if c.Unit == quantity.ByWeight && weights > 0 && !p.vector {
			c.NormalizedWeight = c.Weight / weights
			c.Capacity = c.NormalizedWeight
		}
		if c.Unit != quantity.ByAmount && c.Unit != quantity.Mixed && !p.vector && c.Capacity*(1-1e-5) > c.Maximum && c.Unit == quantity.ByPercent {
			key := p.key(c, "maximum-capacity")
			p.warn(key, p.settings[key],
				fmt.Sprintf("it is less than the queue's capacity, which is %g%%; the queue never gets more than its maximum", c.Percent))
		}
		c.AbsoluteCapacity = c.Capacity * q.AbsoluteCapacity
		c.AbsoluteMaximum = c.Maximum * q.AbsoluteMaximum
		p.amounts(c)
		p.shares(c)
	}
	q.applications()
}

// sums checks the sums of siblings' capacities, by the table in Hadoop's AbstractParentQueue.setChildQueues.
func (p *parser) sums(q *Queue) {
	var percent, weight, amount *Queue
	var sum float32
	var total records.Resource
	for _, c := range q.Children {
		switch {
		case c.Unit == quantity.ByWeight:
			if weight == nil || c.Made != template.Flexible {
				weight = c
			}
		case c.Unit == quantity.ByAmount && !c.Vector.Amounts().IsZero():
			amount = c
			total = total.Add(c.Vector.Amounts())
		case c.Capacity > 0:
			percent = c
		}
		sum += c.Capacity
	}
	first := p.key(q.Children[0], "capacity")
	switch {
	case weight != nil && amount != nil, weight != nil && percent != nil, amount != nil && percent != nil:
		return // see oneUnit
	case weight != nil:
		if key := p.key(weight, "capacity"); q.Parent != nil && q.Unit == quantity.ByAmount && weight.Made != template.Flexible { // which have weights below any
			p.fail(key, p.settings[key], "it is a weight below "+q.Path+", whose capacity is an amount of resources")
		}
		return
	case amount != nil:
		p.amountsFit(q, amount, total)
		return
	case q.Parent != nil && q.Unit == quantity.ByAmount && !q.Vector.Amounts().IsZero():
		p.fail(first, p.settings[first], "it must be an amount of resources, as the capacity of "+q.Path+" is one")
		return
	}
	p.percentages(q, first, sum)
}

func (p *parser) percentages(q *Queue, first string, sum float32) {
	zero := p.truth(q.Path+".allow-zero-capacity-sum", false)
	illegal := fmt.Sprintf("Illegal capacity sum of %s for children of queue %s for label=%s. ", quantity.Java(sum), q.Name, p.label)
	ownZero := q.Unit == quantity.ByPercent && math.Abs(float64(q.Capacity)) <= precision
	switch {
	case math.Abs(float64(1-sum)) <= precision:
		if q.Unit == quantity.ByPercent && q.Capacity <= 0 && !zero {
			p.failWith(illegal+"queue="+q.Name+" has zero capacity, but childqueues have positive capacities", first, p.settings[first],
				fmt.Sprintf("the capacities of the children of %s add up to 100%%, but it has none itself", q.Path))
		}
	case math.Abs(float64(sum)) > precision:
		p.failWith(illegal+"It should be either 0 or 1.0", first, p.settings[first],
			fmt.Sprintf("the capacities of the children of %s add up to %g%%; they must add up to 100%%", q.Path, math.Round(float64(sum)*1e5)/1e3))
	case q.Unit == quantity.ByPercent && !ownZero && !zero:
		p.failWith(illegal+"It is set to 0, but parent percent != 0, and doesn't allow children capacity to set to 0", first, p.settings[first],
			fmt.Sprintf("the capacities of the children of %s add up to 0, which %s.allow-zero-capacity-sum doesn't allow", q.Path, q.Path))
	}
}

// amountsFit checks that children get no more than their parent has.
func (p *parser) amountsFit(q, child *Queue, total records.Resource) {
	key := p.key(child, "capacity")
	own := q.Vector.Amounts()
	switch {
	case q.Parent != nil && (q.Unit != quantity.ByAmount || own.IsZero()):
		p.fail(key, p.settings[key], fmt.Sprintf("it is an amount of resources below %s, whose capacity is none", q.Path))
	case q.Unit == quantity.ByAmount && !own.IsZero() && !p.fits(total, own):
		p.fail(key, p.settings[key], fmt.Sprintf("the children of %s get %s together, which has %s", q.Path, p.types.Format(total), p.types.Format(own)))
	}
}

// fits compares like the resource calculator: by memory alone, or by all resources.
func (p *parser) fits(part, whole records.Resource) bool {
	if strings.HasSuffix(p.text("resource-calculator", ""), "DominantResourceCalculator") {
		return part.FitsIn(whole)
	}
	return part.MemoryMB() <= whole.MemoryMB()
}

// amounts checks the limits of a queue whose capacity is an amount.
func (p *parser) amounts(q *Queue) {
	least, most := q.Vector.Amounts(), q.MaximumVector.Amounts()
	if most.IsZero() {
		return
	}
	key := p.key(q, "maximum-capacity")
	if !p.fits(least, most) {
		p.fail(key, p.settings[key], fmt.Sprintf("it is less than the queue's capacity, which is %s", p.types.Format(least)))
	}
	if above := q.Parent.MaximumVector.Amounts(); !above.IsZero() && !p.fits(most, above) {
		p.fail(key, p.settings[key], fmt.Sprintf("it is more than the maximum of %s, which is %s", q.Parent.Path, p.types.Format(above)))
	}
}

// applications computes how many applications the queue may hold: by default its share of the cluster's maximum
// (Hadoop: AbstractLeafQueue.updateMaximumApplications).
func (q *Queue) applications() {
	q.MaxApplications, q.MaxApplicationsPerUser = q.applicationsOf(q.AbsoluteCapacity)
}

func (q *Queue) applicationsOf(share float32) (all, perUser int32) {
	share = max(share, q.labelShare)
	all = q.maxApps
	switch {
	case all >= 0:
	case q.sharedApps || q.Unit == quantity.ByAmount:
		all = int32(float32(q.clusterApps) * share)
	default:
		all = q.clusterApps
	}
	perUser = all
	if n := float32(all) * (q.UserLimit / 100) * q.UserLimitFactor; q.UserLimitFactor != -1 && n < float32(all) {
		perUser = int32(n)
	}
	return all, perUser
}
