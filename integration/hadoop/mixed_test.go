package hadoop

import (
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// TestMixedClusters runs a job with map and reduce tasks, and so the shuffle, where one of YARN's daemons is Hadoop's and the other
// Heddle's, both ways.
func TestMixedClusters(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	if !onHeddle {
		t.Skip("one of the daemons is to be Heddle's")
	}
	for role, name := range map[string]string{"nm": "Hadoop's NodeManager", "rm": "Hadoop's ResourceManager"} {
		t.Run(name, func(t *testing.T) {
			o := options
			o.Stock, o.HistoryServer = role, false
			l := hadooplab.Start(t, o)
			c, app := begin(t, l, example(t, l, "pi"), "2", "100")
			j := end(t, c, app)
			if j.Code != 0 || !strings.Contains(j.Stdout, "Estimated value of Pi is 3.1") {
				t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
			}
			j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Shuffled Maps ": 2, "Failed Shuffles": 0})
			if got := status(t, l, app); !strings.Contains(got, "Final-State : SUCCEEDED") {
				t.Error(got)
			}
		})
	}
}
