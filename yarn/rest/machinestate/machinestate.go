// Package machinestate is how a node tells the state of its machine, and how a ResourceManager reads that.
package machinestate

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// Path is where a Heddle node tells it on its web port.
const Path = "/ws/v1/heddle/machine"

// Bounds of what is read from a node.
const (
	MaxBytes = 256 << 10
	maxDisks = 500
	maxText  = 1000 // bytes
)

// State is the state of a machine.
type State struct {
	CPU         float64    `yarn:"cpuCores" json:"cpuCores"` // busy ones; −1: not measured yet
	Processors  int        `yarn:"processors" json:"processors"`
	Load        float64    `yarn:"load" json:"load"` // processes that ran or waited to run, mean over a minute
	Memory      int64      `yarn:"memoryBytes" json:"memoryBytes"`
	TotalMemory int64      `yarn:"totalMemoryBytes" json:"totalMemoryBytes"`
	Swap        int64      `yarn:"swapBytes" json:"swapBytes"`
	TotalSwap   int64      `yarn:"totalSwapBytes" json:"totalSwapBytes"`
	Pressure    []Pressure `yarn:"pressure" json:"pressure"` // none: the kernel doesn't say
	Disks       []Disk     `yarn:"disk" json:"disk"`
}

// Pressure is the part of time, in percent, in which some processes, or all of them, waited for a resource (Linux: pressure stall information).
type Pressure struct {
	Resource string  `yarn:"resource" json:"resource"` // cpu, memory or io
	Some10   float64 `yarn:"some10" json:"some10"`     // mean over 10 s
	Some60   float64 `yarn:"some60" json:"some60"`
	Some300  float64 `yarn:"some300" json:"some300"`
	Full10   float64 `yarn:"full10" json:"full10"`
	Full60   float64 `yarn:"full60" json:"full60"`
	Full300  float64 `yarn:"full300" json:"full300"`
}

// Disk is a folder of the node on a disk.
type Disk struct {
	Kind    string `yarn:"kind" json:"kind"` // local-dirs or log-dirs
	Path    string `yarn:"path" json:"path"`
	State   string `yarn:"state" json:"state"` // GOOD, FULL: it gets no new files, or BAD: it can't be used
	Problem string `yarn:"problem,omitempty" json:"problem"`
	Total   int64  `yarn:"totalBytes" json:"totalBytes"` // 0: unknown
	Free    int64  `yarn:"freeBytes" json:"freeBytes"`
}

// Parse reads a node's answer. A node may be hostile: figures that can't be are refused, texts are cut.
func Parse(body []byte) (s State, err error) {
	var outer struct {
		Machine *State `json:"machine"`
	}
	if err := json.Unmarshal(body, &outer); err != nil {
		return s, fmt.Errorf("the state of a machine: %w", err)
	}
	if outer.Machine == nil {
		return s, fmt.Errorf("the state of a machine: the answer has no member %q", "machine")
	}
	s = *outer.Machine
	if len(s.Disks) > maxDisks || len(s.Pressure) > 3 {
		return State{}, fmt.Errorf("the state of a machine has %d folders and %d pressures: at most %d and 3 are read",
			len(s.Disks), len(s.Pressure), maxDisks)
	}
	for _, n := range []int64{int64(s.Processors), s.Memory, s.TotalMemory, s.Swap, s.TotalSwap} {
		if n < 0 || n > math.MaxInt64/2 {
			return State{}, fmt.Errorf("the state of a machine has the amount %d", n)
		}
	}
	for i := range s.Pressure {
		p := &s.Pressure[i]
		for _, percent := range []float64{p.Some10, p.Some60, p.Some300, p.Full10, p.Full60, p.Full300} {
			if percent < 0 || percent > 100 {
				return State{}, fmt.Errorf("the state of a machine has the pressure %v %%", percent)
			}
		}
		p.Resource = cut(p.Resource)
	}
	for i := range s.Disks {
		d := &s.Disks[i]
		if d.Total < 0 || d.Free < 0 || d.Free > d.Total {
			return State{}, fmt.Errorf("the state of a machine has a disk with %d of %d bytes free", d.Free, d.Total)
		}
		for _, text := range []*string{&d.Kind, &d.Path, &d.State, &d.Problem} {
			*text = cut(*text)
		}
	}
	return s, nil
}

// cut keeps the first characters of a text.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
