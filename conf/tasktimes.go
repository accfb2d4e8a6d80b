package conf

import (
	"fmt"
	"strings"
	"time"
)

// TaskTimes reads a list of QUEUE=TIME, such as root.batch=10m: how long the tasks of a queue's applications take in the mean.
func (c *Config) TaskTimes(key string) (map[string]time.Duration, error) {
	times := map[string]time.Duration{}
	for _, item := range ParseList(c.Text(key)) {
		queue, text, _ := strings.Cut(item, "=")
		d, err := time.ParseDuration(text)
		if queue == "" || err != nil || d <= 0 {
			return nil, fmt.Errorf("%q doesn't say how long the tasks of a queue take: write QUEUE=TIME, such as root.batch=10m", item)
		}
		if _, twice := times[queue]; twice {
			return nil, fmt.Errorf("queue %q is named twice", queue)
		}
		times[queue] = d
	}
	return times, nil
}
