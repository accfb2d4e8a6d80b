package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"heddle/conf"
	"heddle/yarn/records"
)

// largest limits numbers in configurations, so that their sums don't overflow.
const largest = 1 << 50

// Index returns the index of a resource type by its name in these files, where memory-mb may also be memory.
func Index(types records.ResourceTypes, name string) (int, bool) {
	if name == "memory" {
		return records.Memory, true
	}
	return types.Index(name)
}

// binaryUnits are the factors of memory's units, in MiB; decimalUnits those of other resources.
var (
	binaryUnits  = map[string]float64{"": 1, "Ki": 1. / 1024, "Mi": 1, "Gi": 1 << 10, "Ti": 1 << 20, "Pi": 1 << 30, "M": 1e6 / (1 << 20), "G": 1e9 / (1 << 20), "T": 1e12 / (1 << 20)}
	decimalUnits = map[string]float64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
)

// ParseAmount reads an amount of a resource with its unit; memory without a unit is in MiB.
func ParseAmount(text string, resource int) (int64, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	units := decimalUnits
	if resource == records.Memory {
		units = binaryUnits
	}
	factor, ok := units[strings.TrimSpace(text[end:])]
	f, err := ParseNumber(strings.TrimSpace(text[:end]))
	switch {
	case !ok || err != nil:
		return 0, fmt.Errorf("%q is not an amount, such as 1024 or 10Gi", conf.Shorten(text))
	case f < 0:
		return 0, fmt.Errorf("%q is less than 0", conf.Shorten(text))
	}
	return int64(min(f*factor, largest)), nil
}

// ParseNumber reads a finite number, whose magnitude is at most 2^50.
func ParseNumber(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || math.Abs(f) > largest {
		return 0, fmt.Errorf("%q is not a number", conf.Shorten(text))
	}
	return f, nil
}
