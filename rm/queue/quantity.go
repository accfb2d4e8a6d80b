package queue

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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

// Amount is the capacity of one resource.
type Amount struct {
	Value float64
	Unit  Unit
}

// Vector is a capacity by the indices of resource types.
type Vector [records.MaxResourceTypes]Amount

func uniform(value float64, unit Unit) (v Vector) {
	for i := range v {
		v[i] = Amount{value, unit}
	}
	return v
}

// unit returns the unit of all resources, or Mixed.
func (v *Vector) unit(types int) Unit {
	for _, a := range v[1:types] {
		if a.Unit != v[0].Unit {
			return Mixed
		}
	}
	return v[0].Unit
}

// amounts returns the parts that are amounts.
func (v *Vector) amounts() (r records.Resource) {
	for i, a := range v {
		if a.Unit == ByAmount {
			r[i] = int64(a.Value)
		}
	}
	return r
}

// largest limits numbers in configurations, so that their sums don't overflow.
const largest = 1 << 50

// parseVector reads a capacity: "25", "2w", or "[memory=10Gi,vcores=8]". Parts of a list may also be percentages and weights
// (Hadoop: QueueCapacityConfigParser). Resources that a list doesn't name get 0.
func parseVector(text string, types records.ResourceTypes) (Vector, error) {
	inner, list := strings.CutPrefix(text, "[")
	if !list {
		a, err := parseShare(text)
		return uniform(a.Value, a.Unit), err
	}
	inner, closed := strings.CutSuffix(inner, "]")
	if !closed {
		return Vector{}, fmt.Errorf("the bracket isn't closed")
	}
	v := uniform(0, ByAmount)
	var seen [records.MaxResourceTypes]bool
	for part := range strings.SplitSeq(inner, ",") {
		name, value, ok := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || name == "" || value == "" {
			return Vector{}, fmt.Errorf("%q is not resource=amount", part)
		}
		i, known := resourceIndex(types, name)
		if !known {
			return Vector{}, fmt.Errorf("%q is not a resource of this cluster (%s); yarn.resource-types lists them", name, types)
		}
		if seen[i] {
			return Vector{}, fmt.Errorf("%s is given twice", name)
		}
		seen[i] = true
		var err error
		if v[i], err = parseAmount(value, i); err != nil {
			return Vector{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	return v, nil
}

func resourceIndex(types records.ResourceTypes, name string) (int, bool) {
	if name == "memory" {
		return records.Memory, true
	}
	return types.Index(name)
}

// parseShare reads a percentage or a weight.
func parseShare(text string) (Amount, error) {
	number, weight := strings.CutSuffix(text, "w")
	f, err := parseFloat(number)
	switch {
	case err != nil:
		return Amount{}, err
	case weight && f < 0:
		return Amount{}, fmt.Errorf("a weight can't be less than 0")
	case weight:
		return Amount{f, ByWeight}, nil
	}
	return Amount{f, ByPercent}, nil
}

// parseAmount reads a part of a list: "50%", "2w", "1024", "10Gi".
func parseAmount(text string, resource int) (Amount, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		f, err := parseFloat(number)
		if err == nil && (f < 0 || f > 100) {
			err = fmt.Errorf("%q is not a percentage from 0 to 100", text)
		}
		return Amount{f, ByPercent}, err
	}
	if strings.HasSuffix(text, "w") {
		return parseShare(text)
	}
	n, err := parseQuantity(text, resource)
	return Amount{float64(n), ByAmount}, err
}

// binaryUnits are the factors of memory's units, in MiB; decimalUnits those of other resources.
var (
	binaryUnits  = map[string]float64{"": 1, "Ki": 1. / 1024, "Mi": 1, "Gi": 1 << 10, "Ti": 1 << 20, "Pi": 1 << 30, "M": 1e6 / (1 << 20), "G": 1e9 / (1 << 20), "T": 1e12 / (1 << 20)}
	decimalUnits = map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
)

// parseQuantity reads an amount of a resource with its unit; memory without a unit is in MiB.
func parseQuantity(text string, resource int) (int64, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	units := decimalUnits
	if resource == records.Memory {
		units = binaryUnits
	}
	factor, ok := units[strings.TrimSpace(text[end:])]
	f, err := parseFloat(strings.TrimSpace(text[:end]))
	switch {
	case !ok || err != nil:
		return 0, fmt.Errorf("%q is not an amount, such as 1024 or 10Gi", text)
	case f < 0:
		return 0, fmt.Errorf("%q is less than 0", text)
	}
	return int64(min(f*factor, largest)), nil
}

func parseFloat(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) > largest {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return f, nil
}
