// Package quantity reads amounts of resources as the files of YARN's schedulers write them: the capacities of the CapacityScheduler, in
// percent, by weight or in units (Vector), and the limits of the FairScheduler, in units or as shares of the cluster (Limit).
//
// It knows no queues. Package queue says which of them a queue may have, and names the queue and the key in its errors.
package quantity

import (
	"fmt"
	"strings"

	"heddle/conf"
	"heddle/yarn/records"
)

// Unit says how a capacity is configured.
type Unit uint8

// The units of capacities.
const (
	ByPercent Unit = iota // of the parent
	ByWeight              // in proportion to the siblings' weights
	ByAmount              // amount of a resource
	Mixed                 // of a queue whose resources have different units
)

// Capacity is the capacity of one resource.
type Capacity struct {
	Value float64
	Unit  Unit
}

// Vector is a capacity by the indices of resource types.
type Vector [records.MaxResourceTypes]Capacity

// Uniform returns a capacity with the same value and unit for each resource.
func Uniform(value float64, unit Unit) (v Vector) {
	for i := range v {
		v[i] = Capacity{value, unit}
	}
	return v
}

// Unit returns the unit of the resources with the indices below types, or Mixed if they have several.
func (v *Vector) Unit(types int) Unit {
	for _, a := range v[1:types] {
		if a.Unit != v[0].Unit {
			return Mixed
		}
	}
	return v[0].Unit
}

// Amounts returns the parts that are amounts.
func (v *Vector) Amounts() (r records.Resource) {
	for i, a := range v {
		if a.Unit == ByAmount {
			r[i] = int64(a.Value)
		}
	}
	return r
}

// ParseCapacity is ParseVector for a queue's capacity or, with most, its maximum, of which percentages above 100 count as 100. notes say what has no
// effect, as in YARN.
func ParseCapacity(text string, types records.ResourceTypes, most bool) (v Vector, notes []string, err error) {
	v, unknown, err := ParseVector(text, types)
	for _, name := range unknown {
		notes = append(notes, fmt.Sprintf("%q is not a resource of this cluster (%s), and has no effect, as in YARN; yarn.resource-types lists them", conf.Shorten(name), types))
	}
	over := false
	for i, a := range v {
		if most && a.Unit == ByPercent && a.Value > 100 {
			v[i].Value, over = 100, true
		}
	}
	if over {
		notes = append(notes, "counts as 100, as in YARN: a queue can't have more than its parent")
	}
	return v, notes, err
}

// ParseVector reads a capacity: "25", "2w", or "[memory=10Gi,vcores=8]". Parts of a list may also be percentages and weights
// (Hadoop: QueueCapacityConfigParser). Resources that a list doesn't name get 0. unknown
// are names that are no resource of the cluster, whose parts have no effect, as in YARN.
func ParseVector(text string, types records.ResourceTypes) (v Vector, unknown []string, err error) {
	inner, list := strings.CutPrefix(text, "[")
	if !list {
		a, err := parseShare(text)
		return Uniform(a.Value, a.Unit), nil, err
	}
	inner, closed := strings.CutSuffix(inner, "]")
	if !closed {
		return Vector{}, nil, fmt.Errorf("the bracket isn't closed")
	}
	v = Uniform(0, ByAmount)
	var seen [records.MaxResourceTypes]bool
	for part := range strings.SplitSeq(inner, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return Vector{}, nil, fmt.Errorf("%q is not resource=amount", conf.Shorten(part))
		}
		i, known := Index(types, name)
		if !known {
			unknown = append(unknown, name)
			continue
		}
		if seen[i] {
			return Vector{}, nil, fmt.Errorf("%s is given twice", conf.Shorten(name))
		}
		seen[i] = true
		if v[i], err = parseCapacity(value, i); err != nil {
			return Vector{}, nil, fmt.Errorf("%s: %w", conf.Shorten(name), err)
		}
	}
	return v, unknown, nil
}

// parseShare reads a percentage or a weight.
func parseShare(text string) (Capacity, error) {
	number, weight := strings.CutSuffix(text, "w")
	f, err := ParseNumber(number)
	switch {
	case err != nil:
		return Capacity{}, err
	case weight && f < 0:
		return Capacity{}, fmt.Errorf("a weight can't be less than 0")
	case weight:
		return Capacity{f, ByWeight}, nil
	}
	return Capacity{f, ByPercent}, nil
}

// parseCapacity reads a part of a list: "50%", "2w", "1024", "10Gi".
func parseCapacity(text string, resource int) (Capacity, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		f, err := ParseNumber(number)
		if err == nil && (f < 0 || f > 100) {
			err = fmt.Errorf("%q is not a percentage from 0 to 100", conf.Shorten(text))
		}
		return Capacity{f, ByPercent}, err
	}
	if strings.HasSuffix(text, "w") {
		return parseShare(text)
	}
	n, err := ParseAmount(text, resource)
	return Capacity{float64(n), ByAmount}, err
}
