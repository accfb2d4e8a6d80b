// Package golden plays scripts: text files that hold both the actions and their expected results.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the scripts in testdata give into them")

// Scripts plays every testdata/*.txt of the package, each as a test of its name. play returns the script with the answers that
// were given now; the test fails if they differ from those that stand in it. With -update they are written there instead.
func Scripts(t *testing.T, play func(t *testing.T, script string) string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (go test -update writes the new answers)\n%s", file, diff)
			}
		})
	}
}
