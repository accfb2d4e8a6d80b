// Package javafmt formats numbers, times and tables as Java's formatters do with the patterns of Hadoop's commands,
// so that programs that read their output can read ours.
package javafmt

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"heddle/internal/plain"
)

// NotAvailable stands for a missing value.
const NotAvailable = "N/A"

// Percent writes a share (1 is all) as DecimalFormat("###.##%") does: at most two decimals.
func Percent(share float32) string {
	s, special := finite(float64(share) * 100)
	if special {
		return s + "%"
	}
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "" || s == "-" || s == "-0" {
		s = "0"
	}
	return s + "%"
}

// Hundredths writes a number as DecimalFormat("#.00") does: two decimals, and nothing before the point if the integral
// part is 0.
func Hundredths(v float32) string {
	s, special := finite(float64(v))
	switch {
	case special:
		return s
	case strings.HasPrefix(s, "0."):
		return s[1:]
	case strings.HasPrefix(s, "-0."):
		return "-" + s[2:]
	}
	return s
}

// finite writes a number with two decimals. special says that it is infinite or NaN.
func finite(v float64) (text string, special bool) {
	switch {
	case math.IsNaN(v):
		return "NaN", true
	case math.IsInf(v, 1):
		return "∞", true
	case math.IsInf(v, -1):
		return "-∞", true
	}
	return strconv.FormatFloat(v, 'f', 2, 64), false
}

// Float writes a float as Float.toString does.
func Float(v float32) string {
	abs := math.Abs(float64(v))
	switch {
	case math.IsNaN(float64(v)):
		return "NaN"
	case math.IsInf(float64(v), 0):
		return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(v), "+"), "Inf") + "Infinity"
	case abs == 0 || abs >= 1e-3 && abs < 1e7:
		s := strconv.FormatFloat(float64(v), 'f', -1, 32)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(float64(v), 'e', -1, 32), "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "E" + sign + strings.TrimLeft(exponent, "+-0")
}

// Time writes milliseconds since 1970 as Hadoop's Times.format does; "N/A" stands for 0 or less.
func Time(ms int64, zone *time.Location) string {
	if ms <= 0 {
		return NotAvailable
	}
	return time.UnixMilli(ms).In(zone).Format("Mon Jan 02 15:04:05 -0700 2006")
}

// HealthTime writes milliseconds since 1970 as DateFormatUtils does with "E dd/MMM/yy hh:mm:ss:SSzz".
func HealthTime(ms int64, zone *time.Location) string {
	t := time.UnixMilli(ms).In(zone)
	return fmt.Sprintf("%s:%02d%s", t.Format("Mon 02/Jan/06 03:04:05"), t.Nanosecond()/int(time.Millisecond), t.Format("MST"))
}

// ISO8601 writes a time as Hadoop's Times.formatISO8601 does.
func ISO8601(t time.Time) string { return t.Format("2006-01-02T15:04:05.000-0700") }

// Row writes one line of a table: each cell right-aligned in its width, with a tab between them.
func Row(widths []int, cells ...string) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteByte('\t')
		}
		fmt.Fprintf(&b, "%*s", widths[i], plain.Cell(c))
	}
	b.WriteByte('\n')
	return b.String()
}

// Box writes a table with a frame and a title, cells centred, as Hadoop's FormattingCLIUtils does.
func Box(title string, head []string, rows [][]string) string {
	widths := make([]int, len(head))
	for i, h := range head {
		widths[i] = width(h)
		for _, r := range rows {
			r[i] = plain.Cell(r[i])
			widths[i] = max(widths[i], width(r[i]))
		}
	}
	inner := -1
	for _, w := range widths {
		inner += w + 3
	}
	if t := []rune(title); len(t) > inner-2 {
		title = string(t[:inner-2])
	}
	line := "+"
	for _, w := range widths {
		line += strings.Repeat("-", w+2) + "+"
	}
	line += "\n"
	var b strings.Builder
	b.WriteString("+" + strings.Repeat("-", inner) + "+\n|" + centre(title, inner) + "|\n" + line)
	for i, r := range append([][]string{head}, rows...) {
		for j, c := range r {
			b.WriteString("|" + centre(c, widths[j]+2))
		}
		b.WriteString("|\n")
		if i == 0 || i == len(rows) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func width(s string) int { return len([]rune(s)) }

func centre(s string, w int) string {
	left := (w - width(s)) / 2
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", w-width(s)-left)
}

// Set returns the distinct words in the order in which Java's HashSet of strings lists them.
func Set(words []string) []string {
	var distinct []string
	for _, w := range words {
		if !slices.Contains(distinct, w) {
			distinct = append(distinct, w)
		}
	}
	buckets := 16
	for 4*len(distinct) > 3*buckets {
		buckets *= 2
	}
	bucket := func(w string) int {
		var h uint32
		for _, unit := range utf16.Encode([]rune(w)) {
			h = 31*h + uint32(unit)
		}
		return int(h^h>>16) & (buckets - 1)
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return bucket(a) - bucket(b) })
	return distinct
}
