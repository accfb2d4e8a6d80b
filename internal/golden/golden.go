// Package golden plays scripts: text files with both the actions and their expected results.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the present results into the scripts in testdata")

// Scripts plays every testdata/*.txt of the package, each as a test of its name. play returns the script with the
// present results. The test fails if they differ from those in the file. With -update it writes them to the file
// instead.
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
