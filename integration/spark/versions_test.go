package spark

import (
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// TestOtherVersions runs older Sparks, whose client of YARN's is that of Hadoop 3.3, and a newer one.
func TestOtherVersions(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	l := lab.Lab(t)
	for _, version := range []string{"3.4.4", "3.5.9", "4.3.0"} {
		for mode, out := range map[string]string{"client": "Pi is roughly 3.1", "cluster": "final status: SUCCEEDED"} {
			t.Run(version+" "+mode, func(t *testing.T) {
				c, err := l.BeginCommand(commandOf(t, l, version, "spark-submit", "--deploy-mode", mode, program(t, pi)))
				if err != nil {
					t.Fatal(err)
				}
				a := end(t, c, "")
				if a.Code != 0 || !strings.Contains(a.Stdout+a.Stderr, out) {
					t.Fatalf("exit code %d\n%s\n%s", a.Code, a.Stdout, a.Stderr)
				}
				if got := l.Status(t, a.id); !strings.Contains(got, "Final-State : SUCCEEDED") {
					t.Error(got)
				}
			})
		}
	}
}
