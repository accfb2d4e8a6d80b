package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestSample(t *testing.T) {
	root := t.TempDir()
	write := func(stat string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, "proc"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"stat":    stat + "\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nintr 5 6\nctxt 7\n",
			"meminfo": "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\nSwapTotal:       300 kB\nSwapFree:        200 kB\nHugePages_Total:       0\n",
			"loadavg": "1.25 0.50 0.10 2/345 678\n",
		} {
			if err := os.WriteFile(filepath.Join(root, "proc", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := NewSampler(root)
	write("cpu  100 0 100 700 100 0 0 0 50 50")
	first, err := s.Sample()
	if err != nil || first != (Use{CPU: -1, Memory: 400 << 10, Swap: 100 << 10, Processors: 2, TotalMemory: 1000 << 10, TotalSwap: 300 << 10, Load: 1.25}) {
		t.Errorf("first: %+v, %v", first, err)
	}
	write("cpu  150 10 120 760 120 10 10 20 70 70") // 120 of 200 ticks busy, on two processors
	second, err := s.Sample()
	if err != nil || second.CPU != 1.2 || s.Last() != second {
		t.Errorf("second: %+v, %v", second, err)
	}
	write("cpu  oops")
	if u, err := s.Sample(); err == nil {
		t.Errorf("nonsense was read as %+v", u)
	}
}

func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	if u, err := NewSampler("/").Sample(); err != nil || u.Memory <= 0 {
		t.Errorf("%+v, %v", u, err)
	}
}
