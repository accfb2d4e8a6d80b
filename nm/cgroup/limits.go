package cgroup

import (
	"fmt"
	"math"
	"strconv"
)

// cpuPeriod is the interval, in µs, over which CPU limits are enforced. The kernel refuses quotas under 1 ms, so the
// finest limit at this period is 1 % of a core; below that the period grows to its maximum of a second.
const (
	cpuPeriod    = 100_000
	cpuPeriodMax = 1_000_000
	cpuQuotaMin  = 1000
)

// quota returns the CPU time, in µs, that cores may use in a period of that many µs. No limit gives quota 0.
func quota(cores float64) (quota, period int64) {
	if cores <= 0 {
		return 0, cpuPeriod
	}
	period = cpuPeriod
	if cores*float64(period) < cpuQuotaMin {
		period = cpuPeriodMax
	}
	return max(cpuQuotaMin, int64(math.Round(cores*float64(period)))), period
}

// sharesV1 is cpu.shares: 1024 a vcore, within the kernel's range.
func sharesV1(vcores float64) int64 {
	if vcores <= 0 {
		return 1024
	}
	return min(262144, max(2, int64(math.Round(vcores*1024))))
}

// weightV2 is cpu.weight: 100, the default of every group, a vcore, within the kernel's range. So containers compare
// with the machine's other groups in v2 as they do in v1.
func weightV2(vcores float64) int64 {
	if vcores <= 0 {
		return 100
	}
	return min(10000, max(1, int64(math.Round(vcores*100))))
}

// maxOr formats a v2 limit.
func maxOr(v int64) string {
	if v <= 0 {
		return "max"
	}
	return strconv.FormatInt(v, 10)
}

// minusOr formats a v1 limit.
func minusOr(v int64) string {
	if v <= 0 {
		return "-1"
	}
	return strconv.FormatInt(v, 10)
}

// cpuMaxV2 formats cpu.max.
func cpuMaxV2(cores float64) string {
	q, period := quota(cores)
	return fmt.Sprintf("%s %d", maxOr(q), period)
}
