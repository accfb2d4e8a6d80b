package suspend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	meminfo = "MemTotal:       1000000 kB\nMemFree: 1 kB\nMemAvailable:    400000 kB\nSwapTotal:      2000000 kB\nSwapFree:       1500000 kB\n"
	psi     = "some avg10=12.50 avg60=1.00 avg300=0.00 total=2644835\nfull avg10=3.25 avg60=0.00 avg300=0.00 total=410865\n"
)

func TestReadPressure(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"proc/meminfo": meminfo, "proc/pressure/memory": psi} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := Pressure{1000000 << 10, 400000 << 10, 2000000 << 10, 1500000 << 10, 12.5, 3.25}
	if p, err := ReadPressure(root); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	if err := os.Remove(filepath.Join(root, "proc/pressure/memory")); err != nil {
		t.Fatal(err)
	}
	want.Some, want.Full = -1, -1
	if p, err := ReadPressure(root); err != nil || p != want {
		t.Errorf("without PSI: %+v, %v", p, err)
	}
}

func TestWhenNoMoreIsTaken(t *testing.T) {
	good := Pressure{Total: 1 << 30, Available: 1 << 29, SwapTotal: 1 << 30, SwapFree: 1 << 29, Some: 1, Full: 1}
	for want, change := range map[string]func(p *Pressure){
		"":                func(*Pressure) {},
		"no swap":         func(p *Pressure) { p.SwapTotal, p.SwapFree = 0, 0 },
		"swap is full":    func(p *Pressure) { p.SwapFree = 1 << 20 },
		"short of memory": func(p *Pressure) { p.Full, p.Available = 50, 1<<24 },
	} {
		p := good
		change(&p)
		if got := p.Refusal(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
	p := good
	p.Full = 100
	if why := p.Refusal(); why != "" {
		t.Errorf("what only we wait for: %s", why)
	}
	p.SwapTotal, p.SwapFree = 64<<20, 10<<20
	if why := p.Refusal(); why != "" {
		t.Errorf("a small swap: %s", why)
	}
}

func FuzzMeminfo(f *testing.F) {
	f.Add(meminfo)
	f.Fuzz(func(t *testing.T, text string) {
		p := Pressure{}
		p.meminfo(text)
		if min(p.Total, p.Available, p.SwapTotal, p.SwapFree) < 0 {
			t.Errorf("%+v", p)
		}
	})
}

func TestRates(t *testing.T) {
	var r Rates
	r.pagedOut(1000, time.Second) // too little to mean anything
	if out, in := r.Get(); out != 0 || in != 0 {
		t.Error(out, in)
	}
	r.pagedOut(100<<20, time.Second)
	r.pagedOut(100<<20, 2*time.Second)
	r.pagedIn(100<<20, time.Second/2)
	if out, in := r.Get(); out != 100<<20-(50<<20)/4 || in != 200<<20 {
		t.Error(out, in)
	}
}
