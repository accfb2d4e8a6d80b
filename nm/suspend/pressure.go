package suspend

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"heddle/internal/bounded"
	"heddle/internal/machine"
)

// Pressure is how a machine's memory is.
type Pressure struct {
	Total, Available    int64   // bytes of memory: all there is, and what programs could still get
	SwapTotal, SwapFree int64   // bytes
	Some, Full          float64 // percent of the last 10 s in which some processes, or all, waited for memory; −1: the kernel doesn't say
}

// MachinePressure returns how this machine's memory is.
func MachinePressure() (Pressure, error) { return ReadPressure("/") }

// ReadPressure reads how memory is from /proc below root ("/" as a rule).
func ReadPressure(root string) (Pressure, error) {
	p := Pressure{Some: -1, Full: -1}
	b, err := bounded.ReadFile(filepath.Join(root, "proc/meminfo"), bounded.KernelFile)
	if err != nil {
		return p, fmt.Errorf("look at the machine's memory: %w", err)
	}
	p.meminfo(string(b))
	stall, known, err := machine.Pressure(root, "memory")
	if err != nil {
		return p, fmt.Errorf("look at the machine's memory: %w", err)
	}
	if known {
		p.Some, p.Full = stall.Some[0], stall.Full[0]
	}
	return p, nil
}

func (p *Pressure) meminfo(text string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kb, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil || kb < 0 || kb > 1<<50 {
			continue
		}
		switch f[0] {
		case "MemTotal:":
			p.Total = kb << 10
		case "MemAvailable:":
			p.Available = kb << 10
		case "SwapTotal:":
			p.SwapTotal = kb << 10
		case "SwapFree:":
			p.SwapFree = kb << 10
		}
	}
}

const (
	scarce    = 20.0     // Full beyond which the machine has no time for more paging
	scarceOf  = 20       // if less than this part of the memory is available, too: taking memory back makes pressure of its own
	leastSwap = 32 << 20 // bytes of free swap, or a sixteenth of it if that is less
)

// Refusal returns why no more memory should be taken from containers, or "".
func (p Pressure) Refusal() string {
	switch {
	case p.SwapTotal == 0:
		return "the machine has no swap"
	case p.SwapFree < min(leastSwap, p.SwapTotal/16):
		return fmt.Sprintf("swap is full: %d of %d MB are free", p.SwapFree>>20, p.SwapTotal>>20)
	case p.Full > scarce && p.Available < p.Total/scarceOf:
		return fmt.Sprintf("the machine is short of memory: all processes waited for it in %.0f %% of the last 10 s", p.Full)
	}
	return ""
}

// PressureReader tells how the machine's memory is; nil: it isn't watched.
type PressureReader func() (Pressure, error)

// Full returns why no memory should be taken from containers at present, or "".
func (r PressureReader) Full() string {
	if r == nil {
		return ""
	}
	p, err := r()
	if err != nil {
		return err.Error()
	}
	return p.Refusal()
}

// Spares reports whether the machine has so many bytes of unneeded memory, and as many again.
func (r PressureReader) Spares(bytes int64) bool {
	if r == nil {
		return false
	}
	p, err := r()
	return err == nil && p.Refusal() == "" && p.Available >= 2*bytes
}
