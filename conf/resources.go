package conf

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"heddle/yarn/records"
)

const (
	nodeMemoryDefault = 8192 // MiB, if nothing is configured or detected
	nodeVCoresDefault = 8
)

// resourceName matches the names of resource types: a name, perhaps after a namespace and a slash.
var resourceName = regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// ResourceTypes returns the resource types of the cluster: memory, vcores and those of yarn.resource-types.
func (c *Config) ResourceTypes() (records.ResourceTypes, error) {
	var more []records.ResourceType
	for _, name := range c.Strings("yarn.resource-types") {
		key := "yarn.resource-types." + name
		units, _ := c.Get(key + ".units")
		switch name {
		case records.MemoryName:
			if units != "" && units != "Mi" {
				return records.ResourceTypes{}, fmt.Errorf("%s.units = %q: memory is counted in Mi", key, units)
			}
			continue
		case records.VCoresName:
			if units != "" {
				return records.ResourceTypes{}, fmt.Errorf("%s.units = %q: vcores have no unit", key, units)
			}
			continue
		case "memory":
			return records.ResourceTypes{}, fmt.Errorf("yarn.resource-types: %q is called %s", name, records.MemoryName)
		}
		if !resourceName.MatchString(name) {
			return records.ResourceTypes{}, fmt.Errorf("yarn.resource-types: %q is not a name of letters, digits, '.', '_' and '-', after a namespace and '/' if need be", name)
		}
		more = append(more, records.ResourceType{Name: name, Units: units})
	}
	types, err := records.NewResourceTypes(more...)
	if err != nil {
		return types, fmt.Errorf("yarn.resource-types: %w", err)
	}
	return types, nil
}

// MinimumAllocation returns the smallest amount of each type in a container.
func (c *Config) MinimumAllocation(types records.ResourceTypes) records.Resource {
	return c.allocation(types, "minimum")
}

// MaximumAllocation returns the largest amount of each type in a container. A type without a limit has the largest
// int64.
func (c *Config) MaximumAllocation(types records.ResourceTypes) records.Resource {
	return c.allocation(types, "maximum")
}

func (c *Config) allocation(types records.ResourceTypes, which string) records.Resource {
	var r records.Resource
	for i := range types.Len() {
		key := "yarn.resource-types." + types.At(i).Name + "." + which + "-allocation"
		switch {
		case c.IsSet(key) || i > records.VCores:
			r[i] = int64(c.Int(key))
		case i == records.Memory:
			r[i] = int64(c.Int("yarn.scheduler." + which + "-allocation-mb"))
		default:
			r[i] = int64(c.Int("yarn.scheduler." + which + "-allocation-vcores"))
		}
	}
	return r
}

// NodeResource returns what this node offers to containers: the configured amounts, or else those of its hardware if
// yarn.nodemanager.resource.detect-hardware-capabilities is on, or else 8192 MiB and 8 vcores (Hadoop:
// NodeManagerHardwareUtils).
func (c *Config) NodeResource(types records.ResourceTypes, hw Hardware) (records.Resource, error) {
	const prefix = "yarn.nodemanager.resource."
	memory, vcores := int64(c.Int(prefix+"memory-mb")), int64(c.Int(prefix+"cpu-vcores"))
	detect := c.Bool(prefix + "detect-hardware-capabilities")
	if memory < 0 {
		memory = nodeMemoryDefault
		if detect && hw.MemoryMB > 0 {
			memory = hw.MemoryMB * 8 / 10
			if reserved := int64(c.Int(prefix + "system-reserved-memory-mb")); reserved >= 0 {
				memory = max(0, hw.MemoryMB-reserved)
			}
		}
	}
	if vcores < 0 {
		vcores = nodeVCoresDefault
		if cores := hw.cores(c.Bool(prefix + "count-logical-processors-as-cores")); detect && cores > 0 {
			vcores = max(1, int64(float64(cores)*c.Float(prefix+"pcores-vcores-multiplier")))
		}
	}
	r := records.NewResource(memory, vcores)
	for i := range types.Len() {
		t := types.At(i)
		key := "yarn.nodemanager.resource-type." + t.Name
		text, ok := c.Get(key)
		if !ok {
			continue
		}
		amount, err := parseAmount(text, t.Units)
		if err != nil {
			return records.Resource{}, fmt.Errorf("%s = %q: %w", key, text, err)
		}
		r[i] = amount
	}
	return r, nil
}

// parseAmount parses a number with or without a unit, and converts it to units.
func parseAmount(s, units string) (int64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	from := s[len(digits):]
	n, err := ParseInt(digits)
	if err != nil {
		return 0, err
	}
	if n < 0 {
		return 0, fmt.Errorf("must not be negative")
	}
	if from == "" {
		return n, nil
	}
	return records.ConvertUnits(from, units, n)
}

// checkResources reports problems with resource types and amounts.
func (c *Config) checkResources(v *validation) {
	types, err := c.ResourceTypes()
	if err != nil {
		v.problem(Error, "yarn.resource-types", err.Error(), "")
		return
	}
	least, most := c.MinimumAllocation(types), c.MaximumAllocation(types)
	node, err := c.NodeResource(types, Hardware{})
	if err != nil {
		key, _, _ := strings.Cut(err.Error(), " = ")
		_, reason, _ := strings.Cut(err.Error(), ": ")
		v.problem(Error, key, reason, "")
	}
	fair := strings.Contains(strings.ToLower(c.Text(rmPrefix+"scheduler.class")), "fair")
	for i := range types.Len() {
		low, high := c.allocationKeys(types.At(i).Name)
		if least[i] > most[i] {
			v.problem(Error, low, fmt.Sprintf("the minimum of %d is above the maximum of %d that %s sets", least[i], most[i], high), "")
		}
		if least[i] == 0 && i <= records.VCores && !fair {
			v.problem(Error, low, "a container can't be empty; only the fair scheduler allows 0", "")
		}
	}
	if err == nil && node.MemoryMB() < least.MemoryMB() {
		v.problem(Warning, "yarn.nodemanager.resource.memory-mb",
			fmt.Sprintf("the node's %d MiB don't hold the smallest container (%d MiB), so the ResourceManager would refuse the node", node.MemoryMB(), least.MemoryMB()), "")
	}
	if err == nil && node.VCores() < least.VCores() {
		v.problem(Warning, "yarn.nodemanager.resource.cpu-vcores",
			fmt.Sprintf("the node's %d vcores don't hold the smallest container (%d vcores), so the ResourceManager would refuse the node", node.VCores(), least.VCores()), "")
	}
	names := make([]string, types.Len())
	for i := range names {
		names[i] = types.At(i).Name
	}
	for name := range c.WithPrefix("yarn.nodemanager.resource-type.") {
		if !slices.Contains(names, name) {
			v.problem(Error, "yarn.nodemanager.resource-type."+name, "yarn.resource-types doesn't list this type", "types "+strings.Join(names, ", "))
		}
	}
}

// allocationKeys returns the keys of a type's limits: the general ones if they are set, otherwise the only ones that
// there are.
func (c *Config) allocationKeys(name string) (low, high string) {
	pick := func(which string) string {
		key := "yarn.resource-types." + name + "." + which + "-allocation"
		if c.IsSet(key) {
			return key
		}
		switch name {
		case records.MemoryName:
			return "yarn.scheduler." + which + "-allocation-mb"
		case records.VCoresName:
			return "yarn.scheduler." + which + "-allocation-vcores"
		}
		return key
	}
	return pick("minimum"), pick("maximum")
}
