package daemon

import (
	"encoding/json"
	"runtime"
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
	for _, name := range []string{"java.lang:type=Threading", "java.lang:type=GarbageCollector,name=Go"} {
		if beans[name] == nil {
			t.Errorf("no %s", name)
		}
	}
}
