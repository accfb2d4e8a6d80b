// Package bound says where a replay ends. It depends on nothing of what replays, so that its fuzz target is small, and fast.
package bound

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Bound is a line of the log, or a time. Both are 0 if the replay goes to its end.
type Bound struct {
	Line int
	Time int64 // ms since 1970
}

// Parse reads what --until says: a time of RFC 3339, ms since 1970, a line such as line:1200, or nothing. Its error is for people.
func Parse(text string) (b Bound, err error) {
	if text == "" {
		return b, nil
	}
	if line, ok := strings.CutPrefix(text, "line:"); ok {
		if b.Line, err = strconv.Atoi(line); err == nil && b.Line > 0 {
			return b, nil
		}
	}
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil && ms > 0 {
		return Bound{Time: ms}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.UnixMilli() <= 0 {
		return Bound{}, fmt.Errorf("--until %s: give a time after 1970 such as 2026-11-20T08:30:00Z, ms since 1970, or line:1200", text)
	}
	return Bound{Time: t.UnixMilli()}, nil
}
