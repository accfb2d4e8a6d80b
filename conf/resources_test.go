package conf

import (
	"math"
	"strings"
	"testing"

	"heddle/yarn/records"
)

func TestResourceTypes(t *testing.T) {
	c := load1(t, Options{},
		"resource-types.xml", configuration(
			property("yarn.resource-types", "yarn.io/gpu, memory-mb, disk"),
			property("yarn.resource-types.disk.units", "Gi"),
			property("yarn.resource-types.disk.maximum-allocation", "500"),
			property("yarn.resource-types.yarn.io/gpu.minimum-allocation", "1"),
			property("yarn.resource-types.memory-mb.minimum-allocation", "128"),
		),
		"node-resources.xml", configuration(
			property("yarn.nodemanager.resource-type.yarn.io/gpu", "4"),
			property("yarn.nodemanager.resource-type.disk", "2Ti"),
		),
	)
	types, err := c.ResourceTypes()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := types.String(), "memory-mb, vcores, yarn.io/gpu, disk"; got != want {
		t.Errorf("got types %s, want %s", got, want)
	}
	if got, want := c.MinimumAllocation(types), (records.Resource{128, 1, 1, 0}); got != want {
		t.Errorf("minimum %v, want %v", got, want)
	}
	if got, want := c.MaximumAllocation(types), (records.Resource{8192, 4, math.MaxInt64, 500}); got != want {
		t.Errorf("maximum %v, want %v", got, want)
	}
	if got, err := c.NodeResource(types, Hardware{}); err != nil || got != (records.Resource{8192, 8, 4, 2048}) {
		t.Errorf("node has %v, %v", got, err)
	}
	if r := c.Validate(); !r.OK() {
		t.Error(r.Err())
	}
}

func TestUnacceptableResourceTypes(t *testing.T) {
	for _, c := range []struct{ overrides, want string }{
		{"yarn.resource-types=memory", "is called memory-mb"},
		{"yarn.resource-types=a b", "not a name"},
		{"yarn.resource-types=a,a", "named twice"},
		{"yarn.resource-types=a,b,c,d,e,f,g", "at most 6"},
		{"yarn.resource-types=gpu yarn.resource-types.gpu.units=lb", "lb"},
		{"yarn.resource-types=memory-mb yarn.resource-types.memory-mb.units=Gi", "Mi"},
		{"yarn.resource-types=vcores yarn.resource-types.vcores.units=k", "no unit"},
		{"yarn.resource-types=gpu yarn.nodemanager.resource-type.gpu=many", "yarn.nodemanager.resource-type.gpu"},
		{"yarn.resource-types=gpu yarn.nodemanager.resource-type.gpu=-1", "negative"},
		{"yarn.nodemanager.resource-type.gpu=1", "doesn't list"},
		{"yarn.resource-types=gpu yarn.resource-types.gpu.minimum-allocation=3 yarn.resource-types.gpu.maximum-allocation=2", "above the maximum"},
	} {
		overrides := strings.Fields(c.overrides)
		if c.overrides == "yarn.resource-types=a b" {
			overrides = []string{c.overrides}
		}
		_, r := CheckWith(Options{Overrides: overrides}, Everybody)
		if r.OK() || !strings.Contains(r.Err().Error(), c.want) {
			t.Errorf("%s: got %v; want %q", c.overrides, r.Err(), c.want)
		}
	}
}

func TestNodeResource(t *testing.T) {
	const p = "yarn.nodemanager.resource."
	hw := Hardware{MemoryMB: 64000, Cores: 8, Processors: 16}
	for _, c := range []struct {
		overrides string
		want      records.Resource
	}{
		{"", records.NewResource(8192, 8)},
		{p + "memory-mb=100 " + p + "cpu-vcores=3", records.NewResource(100, 3)},
		{p + "detect-hardware-capabilities=true", records.NewResource(51200, 8)},
		{p + "detect-hardware-capabilities=true " + p + "memory-mb=100", records.NewResource(100, 8)},
		{p + "detect-hardware-capabilities=true " + p + "system-reserved-memory-mb=4000", records.NewResource(60000, 8)},
		{p + "detect-hardware-capabilities=true " + p + "count-logical-processors-as-cores=true", records.NewResource(51200, 16)},
		{p + "detect-hardware-capabilities=true " + p + "pcores-vcores-multiplier=2.5", records.NewResource(51200, 20)},
		{p + "detect-hardware-capabilities=true " + p + "pcores-vcores-multiplier=0.01", records.NewResource(51200, 1)},
		{"yarn.nodemanager.resource-type.memory-mb=2Gi yarn.nodemanager.resource-type.vcores=5", records.NewResource(2048, 5)},
	} {
		conf, err := Load(Options{Overrides: strings.Fields(c.overrides)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := conf.NodeResource(records.ResourceTypes{}, hw); err != nil || got != c.want {
			t.Errorf("%q: got %v, %v; want %v", c.overrides, got, err, c.want)
		}
	}
	conf := fromMap(map[string]string{p + "detect-hardware-capabilities": "true"})
	if got, err := conf.NodeResource(records.ResourceTypes{}, Hardware{}); err != nil || got != records.NewResource(8192, 8) {
		t.Errorf("unknown hardware: got %v, %v", got, err)
	}
}

func TestDetectHardware(t *testing.T) {
	root := write(t,
		"proc/meminfo", "MemTotal:       24689764 kB\nMemFree: 1 kB\n",
		"proc/cpuinfo", ""+
			"processor\t: 0\nphysical id\t: 0\ncore id\t\t: 0\n\nprocessor\t: 1\nphysical id\t: 0\ncore id\t\t: 0\n\n"+
			"processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n\nprocessor\t: 3\nphysical id\t: 1\ncore id\t\t: 0\n",
	)
	hw, err := DetectHardware(root)
	if want := (Hardware{MemoryMB: 24111, Cores: 2, Processors: 4}); err != nil || hw != want {
		t.Errorf("got %+v, %v; want %+v", hw, err, want)
	}
	arm := write(t, "proc/meminfo", "MemTotal: 2048 kB\n", "proc/cpuinfo", "processor : 0\n\nprocessor : 1\n")
	if hw, err := DetectHardware(arm); err != nil || hw != (Hardware{MemoryMB: 2, Cores: 2, Processors: 2}) {
		t.Errorf("without cores: got %+v, %v", hw, err)
	}
	if hw, err := DetectHardware("/"); err != nil || hw.MemoryMB == 0 || hw.Cores == 0 {
		t.Errorf("this machine: got %+v, %v", hw, err)
	}
}
