// Package starved reads from the kernel's files for how long a group of processes could have run and had no processor, as others had them all or the node's own
// limit had been reached. What the group's own limit took doesn't count: that is its size.
//
// The kernel counts for each processor how long threads of the group waited for it and none ran there (pressure stall information, "full"), and adds these up,
// weighed by how long the group wanted each processor.
package starved

import (
	"math"
	"strconv"
	"strings"
	"time"

	"heddle/internal/machine"
)

// Of returns the time by the texts of cpu.pressure and of cpu.stat, of either version of cgroups; −1: the kernel doesn't tell (before Linux 5.13).
func Of(pressure, stat string) time.Duration {
	waited, err := machine.ParseStall(pressure)
	if err != nil || waited.AllFull < 0 {
		return -1
	}
	own := int64(0)
	for line := range strings.Lines(stat) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		switch f[0] {
		case "throttled_usec": // version 2
			own = max(number(f[1], time.Microsecond), 0)
		case "throttled_time": // version 1
			own = max(number(f[1], time.Nanosecond), 0)
		}
	}
	return max(waited.AllFull-time.Duration(own), 0)
}

// number reads a number of units, in ns; −1: it isn't one.
func number(text string, unit time.Duration) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(unit) {
		return -1
	}
	return n * int64(unit)
}
