package daemon

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Monitoring computes with these figures: they have to be numbers of their kind.
func TestJava(t *testing.T) {
	started := time.Now().Add(-time.Minute)
	var got struct {
		Beans []map[string]any `json:"beans"`
	}
	if err := json.Unmarshal(encode(NewJava(started).Beans(started.Add(time.Minute))), &got); err != nil {
		t.Fatal(err)
	}
	beans := map[string]map[string]any{}
	for _, b := range got.Beans {
		beans[b["name"].(string)] = b
	}
	if up := beans["java.lang:type=Runtime"]["Uptime"]; up != 60000.0 {
		t.Errorf("up for %v ms", up)
	}
	heap, ok := beans["java.lang:type=Memory"]["HeapMemoryUsage"].(map[string]any)
	if !ok || heap["used"].(float64) <= 0 || heap["used"].(float64) > heap["max"].(float64) {
		t.Errorf("%v", beans["java.lang:type=Memory"])
	}
	system := beans["java.lang:type=OperatingSystem"]
	if load := system["SystemCpuLoad"].(float64); load < 0 || load > 1 {
		t.Errorf("load %v", load)
	}
	if system["AvailableProcessors"] != float64(runtime.NumCPU()) || system["ProcessCpuTime"].(float64) <= 0 {
		t.Errorf("%v", system)
	}
	if total, free := system["TotalPhysicalMemorySize"].(float64), system["FreePhysicalMemorySize"].(float64); runtime.GOOS == "linux" && (free <= 0 || free >= total) {
		t.Errorf("%v of %v bytes are free", free, total)
	}
	if runtime.GOOS == "linux" {
		open, limit := system["OpenFileDescriptorCount"].(float64), system["MaxFileDescriptorCount"].(float64)
		if open < 3 || open > limit || system["CommittedVirtualMemorySize"].(float64) <= 0 {
			t.Errorf("%v", system)
		}
	}
	if up := beans["java.lang:type=Runtime"]; up["Pid"] != float64(os.Getpid()) || up["ObjectName"] != "java.lang:type=Runtime" {
		t.Errorf("%v", up)
	}
	for _, name := range []string{"java.lang:type=Threading", "java.lang:type=GarbageCollector,name=Go"} {
		if beans[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}

// The heap's maximum was what Go held just then: an idle daemon showed 80 %, and alerts fired.
func TestTheHeapsMaximumIsWhatTheProcessMayUse(t *testing.T) {
	const limit = 1 << 30
	was := debug.SetMemoryLimit(limit)
	defer debug.SetMemoryLimit(was)
	t.Setenv("GOMEMLIMIT", "1GiB")
	value := func(beans []Bean, bean, attr string) any {
		for _, b := range beans {
			for _, a := range b.Attrs {
				if b.Name == bean && a.Name == attr {
					return a.Value
				}
			}
		}
		return nil
	}
	heap, _ := value(NewJava(time.Now()).Beans(time.Now()), "java.lang:type=Memory", "HeapMemoryUsage").(map[string]any)
	if heap["max"] != uint64(limit) {
		t.Errorf("HeapMemoryUsage: %v", heap)
	}
	for _, attr := range []string{"MemHeapMaxM", "MemMaxM"} {
		if got := value([]Bean{Process("NodeManager", "h")}, "Hadoop:service=NodeManager,name=JvmMetrics", attr); got != 1024.0 {
			t.Errorf("%s is %v", attr, got)
		}
	}
}

func TestOwnLoad(t *testing.T) {
	var l ownLoad
	at := time.Unix(1000, 0)
	if got := l.load(time.Hour, at); got != 0 {
		t.Errorf("%v at the first look", got)
	}
	all := time.Duration(runtime.NumCPU()) * time.Second
	if got := l.load(time.Hour+all/4, at.Add(time.Second)); got != 0.25 {
		t.Errorf("%v", got)
	}
}

func TestSources(t *testing.T) {
	beans := []Bean{{Name: "Hadoop:service=NodeManager,name=A"}, {Name: "Hadoop:service=NodeManager,name=B"}, {Name: "java.lang:type=Runtime"}}
	for _, b := range Sources("NodeManager", "h", beans) {
		for _, a := range b.Attrs {
			if a.Name == "NumActiveSources" && a.Value == 2 {
				return
			}
		}
	}
	t.Error("not two sources")
}
