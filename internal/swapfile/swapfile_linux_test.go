package swapfile

import (
	"os"
	"strings"
	"testing"
)

func TestOnAndOff(t *testing.T) {
	areas := func() int {
		b, err := os.ReadFile("/proc/swaps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(b), "TestOnAndOff")
	}
	t.Run("on", func(t *testing.T) {
		On(t, 1<<20)
		if n := areas(); n != 1 {
			t.Errorf("%d files of this test", n)
		}
	})
	if n := areas(); n != 0 {
		t.Errorf("%d files are left", n)
	}
}
