package machinestate

import (
	"strings"
	"testing"

	"heddle/yarn/rest"
)

// A ResourceManager reads what a node writes.
func TestParse(t *testing.T) {
	want := State{
		CPU: 1.5, Processors: 2, Load: 0.25, Memory: 1 << 30, TotalMemory: 4 << 30, Pressure: []Pressure{{Resource: "io", Some10: 12.5, Full300: 1}},
		Disks: []Disk{{Kind: "local-dirs", Path: "/d/\u202e<b>", State: "FULL", Problem: "used space above threshold", Total: 100, Free: 3}},
	}
	body := rest.Document{Root: "machine", Style: rest.Natural, Value: want}.JSON()
	got, err := Parse(body)
	if err != nil || len(got.Disks) != 1 || got.Disks[0] != want.Disks[0] || got.Pressure[0] != want.Pressure[0] || got.CPU != 1.5 || got.TotalMemory != want.TotalMemory {
		t.Errorf("%s is read as %+v, %v", body, got, err)
	}
}

func TestHostileStates(t *testing.T) {
	for body, want := range map[string]string{
		`x`:                                "invalid character",
		`{}`:                               "no member",
		`{"machine":{"memoryBytes":-1}}`:   "amount -1",
		`{"machine":{"memoryBytes":1e99}}`: "cannot unmarshal",
		`{"machine":{"disk":[{"totalBytes":1,"freeBytes":2}]}}`:                        "2 of 1 bytes free",
		`{"machine":{"pressure":[{"some10":101}]}}`:                                    "pressure 101 %",
		`{"machine":{"disk":[` + strings.Repeat(`{},`, maxDisks) + `{}]}}`:             "501 folders",
		`{"machine":{"pressure":[` + strings.Repeat(`{"resource":"x"},`, 3) + `{}] }}`: "4 pressures",
	} {
		if _, err := Parse([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", body, err, want)
		}
	}
	s, err := Parse([]byte(`{"machine":{"disk":[{"path":"` + strings.Repeat("é", maxText) + `"}]}}`))
	if err != nil || len(s.Disks[0].Path) > maxText+3 || !strings.HasSuffix(s.Disks[0].Path, "é…") {
		t.Errorf("a long path is cut to %d bytes, %v", len(s.Disks[0].Path), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"machine":{"cpuCores":-1,"disk":[{"path":"/x","totalBytes":9}],"pressure":[{"resource":"cpu"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Parse(body)
		if err == nil && (len(s.Disks) > maxDisks || s.Memory < 0) {
			t.Errorf("%q is read as %+v", body, s)
		}
	})
}
