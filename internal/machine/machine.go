// Package machine measures the use of this machine's resources as a whole, by containers and by everything else.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"heddle/internal/bounded"
)

// Use is the use of a machine's resources.
type Use struct {
	CPU    float64 // busy cores, mean since the previous sample; −1 at the first
	Memory int64   // bytes of physical memory, without reclaimable caches
	Swap   int64   // bytes

	Processors             int
	TotalMemory, TotalSwap int64   // bytes
	Load                   float64 // processes that ran or waited to run, mean over a minute
}

// Sampler measures. It is safe for concurrent use.
type Sampler struct {
	root string

	mu          sync.Mutex
	busy, total uint64
	last        Use
}

// NewSampler returns a sampler that reads /proc below root ("/" as a rule).
func NewSampler(root string) *Sampler {
	return &Sampler{root: root, last: Use{CPU: -1}}
}

// Last returns the last sample.
func (s *Sampler) Last() Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Sample measures. Values that the system doesn't report are 0; CPU is −1.
func (s *Sampler) Sample() (Use, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := Use{CPU: -1}
	var err error
	if err = s.memory(&u); err != nil {
		return u, err
	}
	if u.Load, err = s.load(); err != nil {
		return u, err
	}
	var busy, total uint64
	if busy, total, u.Processors, err = s.cpu(); err != nil {
		return u, err
	}
	if s.total > 0 && total > s.total && busy >= s.busy {
		u.CPU = float64(busy-s.busy) / float64(total-s.total) * float64(u.Processors)
	}
	s.busy, s.total, s.last = busy, total, u
	return u, nil
}

// memory reads /proc/meminfo.
func (s *Sampler) memory(u *Use) error {
	f, err := os.Open(filepath.Join(s.root, "proc/meminfo"))
	if err != nil {
		return fmt.Errorf("measure memory: %w", err)
	}
	defer f.Close()
	kb := make(map[string]int64)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		if err == nil {
			kb[name] = n
		}
	}
	available, ok := kb["MemAvailable"]
	if !ok { // Linux before 3.14 lacks it
		available = kb["MemFree"] + kb["Buffers"] + kb["Cached"]
	}
	u.TotalMemory, u.TotalSwap = kb["MemTotal"]<<10, kb["SwapTotal"]<<10
	u.Memory, u.Swap = max(0, kb["MemTotal"]-available)<<10, max(0, kb["SwapTotal"]-kb["SwapFree"])<<10
	return nil
}

// load reads the first number of /proc/loadavg.
func (s *Sampler) load() (float64, error) {
	b, err := bounded.ReadFile(filepath.Join(s.root, "proc/loadavg"), bounded.KernelFile)
	if err != nil {
		return 0, fmt.Errorf("measure load: %w", err)
	}
	first, _, _ := strings.Cut(string(b), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0, fmt.Errorf("measure load: %w", err)
	}
	return load, nil
}

// cpu reads /proc/stat: ticks that processors were busy, ticks in all, and the number of processors.
func (s *Sampler) cpu() (busy, total uint64, processors int, err error) {
	f, err := os.Open(filepath.Join(s.root, "proc/stat"))
	if err != nil {
		return 0, 0, 0, fmt.Errorf("measure CPU use: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "cpu") {
			continue
		}
		if fields[0] != "cpu" {
			processors++
			continue
		}
		// user nice system idle iowait irq softirq steal; guest time is in user already (proc_stat(5))
		for i, text := range fields[1:min(len(fields), 9)] {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return 0, 0, 0, fmt.Errorf("measure CPU use: field %d of /proc/stat: %w", i+1, err)
			}
			total += n
			if i != 3 && i != 4 {
				busy += n
			}
		}
	}
	return busy, total, processors, nil
}
