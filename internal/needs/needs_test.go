package needs

import (
	"fmt"
	"strings"
	"testing"
)

// failing is a test that only remembers how it failed.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }

// Without the program a test fails, and says what to install.
func TestProgram(t *testing.T) {
	if path := Program(t, "go"); path == "" {
		t.Error("it doesn't say where go is")
	}
	t.Setenv("PATH", t.TempDir())
	f := &failing{TB: t}
	for name, install := range map[string]string{"java": "apt-get install default-jdk-headless", "zip": "apt-get install zip"} {
		if Program(f, name); !strings.Contains(f.said, name) || !strings.Contains(f.said, install) {
			t.Errorf("without %s: %q", name, f.said)
		}
	}
}
