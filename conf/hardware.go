package conf

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Hardware describes a node; 0 means unknown.
type Hardware struct {
	MemoryMB   int64 // physical memory, MiB
	Cores      int   // physical cores
	Processors int   // logical processors: cores times threads
}

func (h Hardware) cores(logical bool) int {
	if logical {
		return h.Processors
	}
	return h.Cores
}

// DetectHardware reads the hardware from Linux's /proc below root (usually "/"). Elsewhere it knows only the number of
// processors.
func DetectHardware(root string) (Hardware, error) {
	hw := Hardware{Cores: runtime.NumCPU(), Processors: runtime.NumCPU()}
	if runtime.GOOS != "linux" {
		return hw, nil
	}
	root = strings.TrimSuffix(root, "/")
	err := eachField(root+"/proc/meminfo", func(name, value string) {
		if name == "MemTotal" {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(value, " kB"), 10, 64)
			hw.MemoryMB = kb / 1024
		}
	})
	if err != nil {
		return hw, fmt.Errorf("detecting the node's memory: %w", err)
	}
	var socket string
	cores, processors := map[string]bool{}, 0
	err = eachField(root+"/proc/cpuinfo", func(name, value string) {
		switch name {
		case "processor":
			processors++
		case "physical id":
			socket = value
		case "core id":
			cores[socket+"/"+value] = true
		}
	})
	if err != nil {
		return hw, fmt.Errorf("detecting the node's processors: %w", err)
	}
	if processors > 0 {
		hw.Processors, hw.Cores = processors, processors
	}
	if len(cores) > 0 { // ARM's cpuinfo lacks cores
		hw.Cores = len(cores)
	}
	return hw, nil
}

// eachField calls f for every "name : value" line of a file.
func eachField(path string, f func(name, value string)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read from
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			f(strings.TrimSpace(name), strings.TrimSpace(value))
		}
	}
	return lines.Err()
}
