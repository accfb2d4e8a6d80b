package mapreduce

import (
	"fmt"
	"strings"

	"heddle/am/mapreduce/job"
)

// Bounds of what a worker may say. It runs the user's commands, who have the job's key as it does, and the ApplicationMaster keeps what it says of
// thousands of tasks, and shows it.
const (
	longestText = 16 << 10 // bytes
	maxLines    = 100
	maxCounters = 5000 // of a task
)

// clipped returns a text as far as it is kept: UTF-8, and not too long.
func clipped(text string) string {
	if len(text) > longestText {
		text = text[:longestText] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}

// bounded makes a report as short as it may be. It has failed if it has too many counters.
func bounded(r *job.DoneReport) {
	n := 0
	for _, names := range r.Counters {
		n += len(names)
	}
	if n > maxCounters {
		r.Counters, r.Error = nil, fmt.Sprintf("it has %d counters, more than %d", n, maxCounters)
	}
	r.Error = clipped(r.Error)
	r.Stderr = r.Stderr[max(0, len(r.Stderr)-maxLines):]
	for i := range r.Stderr {
		r.Stderr[i] = clipped(r.Stderr[i])
	}
}
