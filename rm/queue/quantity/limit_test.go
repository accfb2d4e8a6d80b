package quantity

import (
	"strings"
	"testing"

	"heddle/yarn/records"
)

func gpuTypes(t testing.TB) records.ResourceTypes {
	t.Helper()
	types, err := records.NewResourceTypes(records.ResourceType{Name: "yarn.io/gpu"})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

func TestLimits(t *testing.T) {
	cluster := records.Resource{10000, 100, 8}
	for text, want := range map[string]records.Resource{
		"1024 mb, 2 vcores":       {1024, 2, 8},
		"2 vcores, 1024mb":        {1024, 2, 8},
		"1024.7 MB,3 vcores":      {1024, 3, 8},
		"1024 mb 2 vcores":        {1024, 2, 8},
		"1024mb 2vcores":          {1024, 2, 8},
		"50%":                     {5000, 50, 4},
		"50 % memory, 25.5% cpu":  {5000, 25, 8},
		"memory-mb=2048,vcores=4": {2048, 4, 8},
		"memory-mb=2048, 4 cpu":   {2048, 4, 8},
		"vcores=4, memory-mb=4Gi , yarn.io/gpu = 2": {4096, 4, 2},
		"memory-mb=10%,vcores=20%,yarn.io/gpu=50%":  {1000, 20, 4},
		"vcores=20%": {0, 20, 0},
	} {
		l, err := ParseLimit(text, gpuTypes(t))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := l.Of(cluster, cluster); got != want || !l.Set() || l.OfCluster() != strings.Contains(text, "%") {
			t.Errorf("%s: got %v, want %v; it is a limit: %v, of the cluster: %v", text, got, want, l.Set(), l.OfCluster())
		}
	}
	if none := (&Limit{}); none.Set() || none.OfCluster() || none.Of(cluster, records.Resource{1, 2, 3}) != (records.Resource{1, 2, 3}) {
		t.Error("the zero value limits something")
	}
}

func TestLimitsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "not an amount", "1024": `"" is not a resource`, "1024 mb": "both needed", "2 vcores": "both needed", "memory-mb": "not an amount",
		"memory-mb=x,vcores=1": `"memory-mb=x" is not an amount`, "-1 mb, 1 vcores": `"-1 mb" is less than 0`, "fpga=1": `"fpga" is not a resource`,
		"10%,20 vcores": `"" is not a resource`, "memory-mb=10%,vcores=2": "can't be mixed", "NaN%": "can't be mixed", "1e400 mb, 1 vcores": `"e400 mb" is not a resource`,
		"10% memory, 10% cpu, 10% gpu": "of memory and cpu", "1 mb, 1 horses": `"horses" is not a resource`,
		strings.Repeat("x", 9000) + "=1": "(9000 bytes)",
	} {
		_, err := ParseLimit(text, gpuTypes(t))
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "it must be such as") {
			t.Errorf("%.50q: got %.500v, want %s", text, err, want)
		}
	}
}

func TestALimitHoldsAnother(t *testing.T) {
	for _, c := range []struct {
		most, least string
		want        bool
	}{
		{"1024 mb, 2 vcores", "1024 mb, 2 vcores", true},
		{"1024 mb, 2 vcores", "1025 mb, 2 vcores", false},
		{"1024 mb, 2 vcores", "1 mb, 3 vcores", false},
		{"memory-mb=1", "memory-mb=1,vcores=9", true}, // vcores have no maximum
		{"50%", "1025 mb, 2 vcores", true},
		{"1024 mb, 2 vcores", "99%", true},
	} {
		most, err := ParseLimit(c.most, gpuTypes(t))
		least, err2 := ParseLimit(c.least, gpuTypes(t))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if got := most.Holds(&least); got != c.want {
			t.Errorf("%s holds %s: %v", c.most, c.least, got)
		}
	}
}

// FuzzLimit reads arbitrary texts. A limit that comes of one is nothing that a cluster can't have, and the error of another one is short.
func FuzzLimit(f *testing.F) {
	for _, text := range []string{"1024 mb, 2 vcores", "50 % memory, 25.5% cpu", "memory-mb=4Gi,vcores=1e3", "vcores=20%", "1mb 2cpu", "=", "%"} {
		f.Add(text)
	}
	types := gpuTypes(f)
	cluster := records.Resource{10000, 100, 8}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLimit(text, types)
		if err != nil {
			if l.Set() || len(err.Error()) > 1000 {
				t.Fatalf("%v, and an error of %d bytes", l, len(err.Error()))
			}
			return
		}
		if got := l.Of(cluster, cluster); got != got.Max(records.Resource{}) || !l.Set() {
			t.Fatalf("%q is %v", text, got)
		}
		if !l.Holds(&l) {
			t.Fatalf("%q doesn't hold itself", text)
		}
	})
}
