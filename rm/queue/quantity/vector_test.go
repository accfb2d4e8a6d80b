package quantity

import (
	"math"
	"strings"
	"testing"

	"heddle/yarn/records"
)

func TestCapacities(t *testing.T) {
	percent, weight, amount := ByPercent, ByWeight, ByAmount
	for text, want := range map[string][3]Capacity{
		"25":                     {{25, percent}, {25, percent}, {25, percent}},
		"12.5":                   {{12.5, percent}, {12.5, percent}, {12.5, percent}},
		"2w":                     {{2, weight}, {2, weight}, {2, weight}},
		"[memory=10Gi,vcores=8]": {{10240, amount}, {8, amount}, {0, amount}},
		"[ memory-mb = 2 Ti , yarn.io/gpu = 2k ]":   {{2 << 20, amount}, {0, amount}, {2000, amount}},
		"[memory=1024Ki,vcores=3w,yarn.io/gpu=12%]": {{1, amount}, {3, weight}, {12, percent}},
		"[memory=1125899906842624Pi]":               {{largest, amount}, {0, amount}, {0, amount}},
	} {
		got, _, err := ParseVector(text, gpuTypes(t))
		if err != nil || [3]Capacity(got[:3]) != want {
			t.Errorf("%s: got %v, %v, want %v", text, got[:3], err, want)
		}
	}
}

func TestUnitOfAVector(t *testing.T) {
	types := gpuTypes(t)
	for text, want := range map[string]Unit{
		"25": ByPercent, "2w": ByWeight, "[memory=1,vcores=1]": ByAmount, "[memory=1%,vcores=1%,yarn.io/gpu=1%]": ByPercent, "[memory=1%,vcores=1w]": Mixed,
		"[memory=1%,vcores=1%]": Mixed, // what isn't named is an amount of 0
	} {
		v, _, err := ParseVector(text, types)
		if got := v.Unit(types.Len()); err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	v, _, _ := ParseVector("[memory=7,vcores=50%,yarn.io/gpu=2]", types)
	if got := v.Amounts(); got != (records.Resource{7, 0, 2}) {
		t.Errorf("the amounts are %v", got)
	}
}

func TestCapacitiesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "not a number", "x": "not a number", "NaN": "not a number", "Inf": "not a number", "1e16": "not a number", "-1w": "less than 0",
		"[memory=10": "isn't closed", "[]": "not resource=amount", "[memory]": "not resource=amount", "[memory=]": "not resource=amount",
		"[memory=1,memory-mb=2]": "given twice", "[memory=-1]": "less than 0", "[vcores=1Pi]": "not an amount",
		"[memory=101%]": "percentage from 0 to 100", "[memory=-1%]": "percentage from 0 to 100", "[memory=-2w]": "less than 0", "[memory=1e99]": "not an amount",
		strings.Repeat("1", 9000): "(9000 bytes)",
	} {
		if _, _, err := ParseVector(text, gpuTypes(t)); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%.50q: got %.500v, want %s", text, err, want)
		}
	}
}

// FuzzVector reads arbitrary texts. The numbers of a capacity that comes of one can be added up, and the error of another one is short.
func FuzzVector(f *testing.F) {
	for _, text := range []string{"25", "2w", "[memory=10Gi,vcores=8]", "[memory=50%,vcores=2w,yarn.io/gpu=1]", "[=]", "-1"} {
		f.Add(text)
	}
	types := gpuTypes(f)
	f.Fuzz(func(t *testing.T, text string) {
		v, notes, err := ParseCapacity(text, types, true)
		if len(notes) > 1+strings.Count(text, ",")+1 {
			t.Fatalf("%d notes", len(notes))
		}
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		for i, c := range v {
			if math.IsNaN(c.Value) || math.Abs(c.Value) > largest || c.Value < 0 && c.Unit != ByPercent || c.Unit > ByAmount {
				t.Fatalf("%q: %v of type %d", text, c, i)
			}
		}
	})
}
