package conf

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
)

// NodeSpeed is how fast the nodes are whose host a pattern matches, compared with other nodes.
type NodeSpeed struct {
	Pattern string // as of filepath.Match
	Speed   float64
}

// ParseNodeSpeeds reads a list of HOST=SPEED, such as gpu-*=3, of which the first one that matches a host counts.
func ParseNodeSpeeds(list string) ([]NodeSpeed, error) {
	var out []NodeSpeed
	for _, item := range ParseList(list) {
		pattern, text, _ := strings.Cut(item, "=")
		speed, err := strconv.ParseFloat(text, 64)
		if pattern == "" || err != nil || !(speed > 0) || math.IsInf(speed, 0) || speed > maxSpeed || speed < 1/maxSpeed {
			return nil, fmt.Errorf("%q doesn't say how fast a node is: write HOST=SPEED with a speed from %g to %g, such as gpu-*=3", item, 1/maxSpeed, maxSpeed)
		}
		if _, err := filepath.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("%q is not a pattern of hosts: %w", pattern, err)
		}
		out = append(out, NodeSpeed{pattern, speed})
	}
	return out, nil
}

// maxSpeed is how much faster a node may be than another.
const maxSpeed = 1e6
