// Package when prints times as the commands do. Times are in ms since 1970; 0 is unknown.
package when

import (
	"encoding/json"
	"fmt"
	"time"
)

// Unknown is printed for a step that is unknown or hasn't happened yet.
const Unknown = "-"

// Millis reads a time. A missing one is 0.
func Millis(n json.Number) int64 {
	ms, err := n.Int64()
	if err != nil {
		return 0
	}
	return ms
}

// Clock returns a time of the day, in the zone of this machine.
func Clock(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02 15:04:05.000") }

// Seconds returns a time in seconds since another one.
func Seconds(ms, since int64) string {
	if ms <= 0 {
		return Unknown
	}
	return fmt.Sprintf("%.3f", float64(ms-since)/1000)
}
