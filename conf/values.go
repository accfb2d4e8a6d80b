package conf

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The functions below parse values as Hadoop's Configuration does, without surrounding white space. Their errors say
// what a value should look like. The caller adds the key.

// ParseBool parses true or false in any case. (Hadoop silently uses the default for anything else.)
func ParseBool(s string) (bool, error) {
	switch strings.ToLower(trim(s)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// ParseInt reads a decimal or, after 0x, hexadecimal integer of 64 bits.
func ParseInt(s string) (int64, error) {
	s = trim(s)
	digits, base, sign := s, 10, ""
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		digits, sign = rest, "-"
	}
	if len(digits) > 1 && (digits[:2] == "0x" || digits[:2] == "0X") {
		digits, base = digits[2:], 16
	} else {
		digits, sign = s, ""
	}
	v, err := strconv.ParseInt(sign+digits, base, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("doesn't fit into 64 bits")
	}
	if err != nil || (base == 16 && strings.ContainsAny(digits, "+-")) {
		return 0, errors.New("must be an integer")
	}
	return v, nil
}

// ParseFloat reads a decimal number, which may end in f or d as in Java.
func ParseFloat(s string) (float64, error) {
	s = trim(s)
	if n := len(s); n > 1 && strings.IndexByte("fFdD", s[n-1]) >= 0 {
		s = s[:n-1]
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Contains(s, "_") || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, errors.New("must be a number")
	}
	return v, nil
}

var durationUnits = []struct {
	suffix string
	unit   time.Duration
}{
	{"ns", time.Nanosecond},
	{"us", time.Microsecond},
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
	{"d", 24 * time.Hour},
}

// ParseDuration parses an integer, with or without one of the units ns, us, ms, s, m, h and d. Without one it counts
// unit. Durations too long for a time.Duration (292 years) become the longest one.
func ParseDuration(s string, unit time.Duration) (time.Duration, error) {
	s = strings.ToLower(trim(s))
	for _, u := range durationUnits {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, unit = rest, u.unit
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("doesn't fit into 64 bits")
	}
	if err != nil {
		return 0, errors.New("must be an integer, with or without one of the units ns, us, ms, s, m, h, d")
	}
	switch {
	case n > int64(math.MaxInt64/unit):
		return math.MaxInt64, nil
	case n < int64(math.MinInt64/unit):
		return math.MinInt64, nil
	}
	return time.Duration(n) * unit, nil
}

// ParseSize reads a number of bytes: an integer that may be followed by k, m, g, t, p or e for powers of 1024.
func ParseSize(s string) (int64, error) {
	s = trim(s)
	shift := 0
	if n := len(s); n > 0 {
		if i := strings.IndexByte("kmgtpe", s[n-1]|0x20); i >= 0 {
			s, shift = s[:n-1], 10*(i+1)
		}
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, errors.New("must be a number of bytes, with or without one of k, m, g, t, p, e")
	}
	if err != nil || v > math.MaxInt64>>shift || v < math.MinInt64>>shift {
		return 0, errors.New("doesn't fit into 64 bits")
	}
	return v << shift, nil
}

// ParseList splits at commas and line breaks, trims the parts, and omits empty ones (Hadoop:
// getTrimmedStringCollection).
func ParseList(s string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == '\n' }) {
		if part = trim(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// Address is a host and port. Port 0 stands for any free one.
type Address struct {
	Host string
	Port int
}

// String returns host:port, an IPv6 host in brackets.
func (a Address) String() string {
	if strings.Contains(a.Host, ":") {
		return "[" + a.Host + "]:" + strconv.Itoa(a.Port)
	}
	return a.Host + ":" + strconv.Itoa(a.Port)
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

// ParseAddress parses host:port, or a host alone if there is a default port (≥ 0), with or without scheme and path
// around it (Hadoop: NetUtils.createSocketAddr). IPv6 hosts are in brackets. It looks no names up.
func ParseAddress(s string, defaultPort int) (Address, error) {
	s = trim(s)
	wrong := errors.New("must be host:port")
	if defaultPort >= 0 {
		wrong = errors.New("must be host:port or host")
	}
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s, _, _ = strings.Cut(rest, "/")
	}
	host, port, hasPort := s, "", false
	if rest, ok := strings.CutPrefix(s, "["); ok {
		var tail string
		if host, tail, ok = strings.Cut(rest, "]"); !ok || !strings.Contains(host, ":") ||
			strings.Trim(host, "0123456789abcdefABCDEF:.%") != "" {
			return Address{}, wrong
		}
		if port, hasPort = strings.CutPrefix(tail, ":"); !hasPort && tail != "" {
			return Address{}, wrong
		}
	} else {
		if host, port, hasPort = strings.Cut(s, ":"); !hostName.MatchString(host) {
			return Address{}, wrong
		}
	}
	if !hasPort || port == "" {
		if defaultPort < 0 {
			return Address{}, wrong
		}
		return Address{host, defaultPort}, nil
	}
	n, err := strconv.ParseUint(port, 10, 32)
	if err != nil {
		return Address{}, wrong
	}
	if n > 65535 {
		return Address{}, fmt.Errorf("has port %d, but ports end at 65535", n)
	}
	return Address{host, int(n)}, nil
}
