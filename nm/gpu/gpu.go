// Package gpu assigns the machine's GPUs to containers (Hadoop: GpuResourceAllocator). Environment variables tell
// programs which GPUs they have.
package gpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"heddle/yarn/records"
)

// Type is the name of the resource type that counts GPUs.
const Type = "yarn.io/gpu"

// Device is a GPU: its index on the machine, as CUDA counts, and the minor number of its device file.
type Device struct {
	Index int `json:"index"`
	Minor int `json:"minor"`
}

func (d Device) String() string { return fmt.Sprintf("%d:%d", d.Index, d.Minor) }

// Parse reads a list such as 0:0,1:2 of yarn.nodemanager.resource-plugins.gpu.allowed-gpu-devices.
func Parse(text string) ([]Device, error) {
	var out []Device
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		index, minor, ok := strings.Cut(part, ":")
		i, err := strconv.ParseUint(strings.TrimSpace(index), 10, 16)
		m, err2 := strconv.ParseUint(strings.TrimSpace(minor), 10, 16)
		if !ok || err != nil || err2 != nil {
			return nil, fmt.Errorf("%q is not a GPU: write index:minor, such as 0:0,1:1, or auto", part)
		}
		d := Device{int(i), int(m)}
		if slices.ContainsFunc(out, func(o Device) bool { return o.Index == d.Index || o.Minor == d.Minor }) {
			return nil, fmt.Errorf("GPU %v is listed twice, by its index or its minor number", d)
		}
		out = append(out, d)
	}
	if len(out) == 0 {
		return nil, errors.New("no GPU is listed: write index:minor, such as 0:0,1:1, or auto")
	}
	return out, nil
}

var deviceFile = regexp.MustCompile(`^nvidia([0-9]+)$`)

// Discover returns the GPUs that have device files in a directory such as /dev.
func Discover(dev string) ([]Device, error) {
	entries, err := os.ReadDir(dev)
	if err != nil {
		return nil, fmt.Errorf("look for GPUs: %w", err)
	}
	var minors []int
	for _, e := range entries {
		if m := deviceFile.FindStringSubmatch(filepath.Base(e.Name())); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				continue
			}
			minors = append(minors, n)
		}
	}
	slices.Sort(minors)
	out := make([]Device, len(minors))
	for i, n := range minors {
		out[i] = Device{i, n}
	}
	return out, nil
}

// In returns the number of GPUs in an amount of resources.
func In(types records.ResourceTypes, r records.Resource) int64 {
	if i, ok := types.Index(Type); ok {
		return r[i]
	}
	return 0
}

// Counted returns n GPUs of which only the number is known.
func Counted(n int64) []Device {
	out := make([]Device, max(0, n))
	for i := range out {
		out[i] = Device{i, i}
	}
	return out
}

// Pool has a machine's GPUs. It is safe for concurrent use.
type Pool struct {
	mu      sync.Mutex
	devices []Device
	owner   map[Device]records.ContainerID
}

// NewPool returns a pool in which all devices are free.
func NewPool(devices []Device) *Pool {
	return &Pool{devices: devices, owner: map[Device]records.ContainerID{}}
}

// Devices returns all devices of the pool.
func (p *Pool) Devices() []Device { return p.devices }

// Take assigns n free devices with the lowest indices to a container. It fails if there are fewer.
func (p *Pool) Take(id records.ContainerID, n int64) ([]Device, error) {
	if n <= 0 {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Device
	for _, d := range p.devices {
		if _, taken := p.owner[d]; !taken && int64(len(out)) < n {
			out = append(out, d)
		}
	}
	if int64(len(out)) < n {
		return nil, fmt.Errorf("container %v needs %d GPUs, but %d of the node's %d are free", id, n, len(out),
			len(p.devices))
	}
	for _, d := range out {
		p.owner[d] = id
	}
	return out, nil
}

// Restore assigns to a container the devices that it had before a restart.
func (p *Pool) Restore(id records.ContainerID, devices []Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range devices {
		p.owner[d] = id
	}
}

// Release frees a container's devices.
func (p *Pool) Release(id records.ContainerID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for d, o := range p.owner {
		if o == id {
			delete(p.owner, d)
		}
	}
}

// Assigned returns which container has which device.
func (p *Pool) Assigned() map[Device]records.ContainerID {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[Device]records.ContainerID, len(p.owner))
	for d, id := range p.owner {
		out[d] = id
	}
	return out
}

// Environment returns the variables that show programs their devices and no others. CUDA and NVIDIA's container runtime
// both take indices. The runtime's word for none is void.
func Environment(devices []Device) map[string]string {
	indices := make([]string, len(devices))
	for i, d := range devices {
		indices[i] = strconv.Itoa(d.Index)
	}
	list := strings.Join(indices, ",")
	env := map[string]string{"CUDA_VISIBLE_DEVICES": list, "NVIDIA_VISIBLE_DEVICES": list}
	if list == "" {
		env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
	return env
}
