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

// Uniform is a capacity with the same value and unit for each resource.
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

// ParseVector reads a capacity: "25", "2w", or "[memory=10Gi,vcores=8]". Parts of a list may also be percentages and weights
// (Hadoop: QueueCapacityConfigParser). Resources that a list doesn't name get 0.
func ParseVector(text string, types records.ResourceTypes) (Vector, error) {
	inner, list := strings.CutPrefix(text, "[")
	if !list {
		a, err := parseShare(text)
		return Uniform(a.Value, a.Unit), err
	}
	inner, closed := strings.CutSuffix(inner, "]")
	if !closed {
		return Vector{}, fmt.Errorf("the bracket isn't closed")
	}
	v := Uniform(0, ByAmount)
	var seen [records.MaxResourceTypes]bool
	for part := range strings.SplitSeq(inner, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return Vector{}, fmt.Errorf("%q is not resource=amount", conf.Shorten(part))
		}
		i, known := Index(types, name)
		if !known {
			return Vector{}, fmt.Errorf("%q is not a resource of this cluster (%s); yarn.resource-types lists them", conf.Shorten(name), types)
		}
		if seen[i] {
			return Vector{}, fmt.Errorf("%s is given twice", conf.Shorten(name))
		}
		seen[i] = true
		var err error
		if v[i], err = parseCapacity(value, i); err != nil {
			return Vector{}, fmt.Errorf("%s: %w", conf.Shorten(name), err)
		}
	}
	return v, nil
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
