// Package queuesettings reads settings of queues from a command line, into the form that the REST API takes. It depends on nothing of the
// commands, so that its fuzz target is small, and fast.
package queuesettings

import (
	"fmt"
	"strings"
)

// Setting is a setting, or without a value the wish to remove it.
type Setting struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// List has settings as the REST API wraps them.
type List struct {
	Entry []Setting `json:"entry"`
}

// Queue has the settings of a queue.
type Queue struct {
	Queue  string `json:"queue-name"`
	Params List   `json:"params"`
}

// Parse reads queue:key=value,…;queue:….
func Parse(text string) ([]Queue, error) {
	var out []Queue
	for part := range strings.SplitSeq(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		name, rest, _ := strings.Cut(part, ":")
		q := Queue{Queue: strings.TrimSpace(name)}
		if q.Queue == "" {
			return nil, fmt.Errorf("%q doesn't name a queue", part)
		}
		var err error
		if q.Params, err = ParseList(rest); err != nil {
			return nil, fmt.Errorf("queue %s: %w", q.Queue, err)
		}
		out = append(out, q)
	}
	return out, nil
}

// ParseList reads key=value,… A comma after a backslash belongs to the value.
func ParseList(text string) (List, error) {
	const kept = "\x00"
	out := List{Entry: []Setting{}}
	for pair := range strings.SplitSeq(strings.ReplaceAll(text, `\,`, kept), ",") {
		if pair = strings.ReplaceAll(strings.TrimSpace(pair), kept, ","); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return List{}, fmt.Errorf("specify configuration key value as confKey=confVal, not %q", pair)
		}
		entry := Setting{Key: strings.TrimSpace(key)}
		if value = strings.TrimSpace(value); value != "" {
			entry.Value = &value
		}
		out.Entry = append(out.Entry, entry)
	}
	return out, nil
}
