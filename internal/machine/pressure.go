package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"heddle/internal/bounded"
)

// Stall is the part of time, in percent, in which some processes, or all of them, waited for a resource (Linux: pressure stall information).
// −1: the kernel doesn't say.
type Stall struct {
	Some, Full Means
	AllFull    time.Duration // for how long all of them have waited since they began; −1: the kernel doesn't say
}

// Means are those over the last 10, 60 and 300 s.
type Means [3]float64

// Pressure reads how long processes wait for cpu, memory or io from /proc below root ("/" as a rule). known is false where the kernel doesn't say: it is not
// built in, or turned off.
func Pressure(root, resource string) (s Stall, known bool, err error) {
	b, err := bounded.ReadFile(filepath.Join(root, "proc/pressure", resource), bounded.KernelFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errors.ErrUnsupported) {
		return s, false, nil
	}
	if err == nil {
		s, err = ParseStall(string(b))
	}
	if err != nil {
		return s, false, fmt.Errorf("pressure of %s: %w", resource, err)
	}
	return s, true, nil
}

// ParseStall reads lines like "some avg10=0.12 avg60=0.00 avg300=0.00 total=123", of a machine or of a group of processes. Older kernels have no line "full" of
// cpu.
func ParseStall(text string) (Stall, error) {
	unknown := Means{-1, -1, -1}
	s := Stall{unknown, unknown, -1}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 {
			return s, fmt.Errorf("line %q", line)
		}
		var means Means
		for i, name := range []string{"avg10=", "avg60=", "avg300="} {
			value, ok := strings.CutPrefix(f[i+1], name)
			percent, err := strconv.ParseFloat(value, 64)
			if !ok || err != nil || !(percent >= 0 && percent <= 100) {
				return s, fmt.Errorf("%q is no %spercent", f[i+1], name)
			}
			means[i] = percent
		}
		switch f[0] {
		case "some":
			s.Some = means
		case "full":
			s.Full, s.AllFull = means, total(f[4:])
		}
	}
	return s, nil
}

// total reads what follows the means of a line: "total=" and a number of µs. −1: it makes no sense.
func total(rest []string) time.Duration {
	if len(rest) != 1 {
		return -1
	}
	us, err := strconv.ParseInt(strings.TrimPrefix(rest[0], "total="), 10, 64)
	if err != nil || us < 0 || us > math.MaxInt64/int64(time.Microsecond) {
		return -1
	}
	return time.Duration(us) * time.Microsecond
}
