package quantity

import (
	"strconv"
	"strings"

	"heddle/yarn/records"
)

// Java formats a number as Java does, if it isn't huge or tiny.
func Java(f float32) string {
	text := strconv.FormatFloat(float64(f), 'f', -1, 32)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// Times multiplies an amount with a share, rounded down as in Hadoop.
func Times(r records.Resource, share float32) (out records.Resource) {
	for i, n := range r {
		out[i] = records.Whole(float64(n) * float64(share))
	}
	return out
}
