package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Share is what a user has of nodes where several wait.
type Share struct {
	Weight   float64 // above 0
	Priority int32   // higher goes first, strictly
}

// Limits of shares.
const (
	mostWeight   = 1e6
	mostPriority = 1000
)

// Shares reads a list of NAME:WEIGHT and NAME:WEIGHT:PRIORITY.
func (c *Config) Shares(key string) (map[string]Share, error) {
	of := map[string]Share{}
	for _, item := range ParseList(c.Text(key)) {
		words := strings.Split(item, ":")
		if len(words) < 2 || len(words) > 3 || words[0] == "" {
			return nil, fmt.Errorf("%q is no share: write NAME:WEIGHT or NAME:WEIGHT:PRIORITY", item)
		}
		if _, twice := of[words[0]]; twice {
			return nil, fmt.Errorf("user %q is named twice", words[0])
		}
		weight, err := strconv.ParseFloat(words[1], 64)
		if err != nil || math.IsNaN(weight) || weight <= 0 || weight > mostWeight {
			return nil, fmt.Errorf("%q is no weight of user %q: it must be above 0, and at most %g", words[1], words[0], float64(mostWeight))
		}
		s := Share{Weight: weight}
		if len(words) == 3 {
			p, err := strconv.Atoi(words[2])
			if err != nil || p < -mostPriority || p > mostPriority {
				return nil, fmt.Errorf("%q is no priority of user %q: it must be from %d to %d", words[2], words[0], -mostPriority, mostPriority)
			}
			s.Priority = int32(p)
		}
		of[words[0]] = s
	}
	return of, nil
}
