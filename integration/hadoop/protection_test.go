package hadoop

import (
	"maps"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// Jobs run with signed and with encrypted RPC, where Heddle's daemons, and where one of Hadoop's, meet Hadoop's ApplicationMasters.
func TestProtectedRPC(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	for name, x := range map[string]struct{ protection, stock string }{
		"privacy":                              {"privacy", ""},
		"integrity":                            {"integrity", ""},
		"privacy with a NodeManager of Hadoop": {"privacy", "nm"},
		"privacy with a ResourceManager of Hadoop":   {"privacy", "rm"},
		"integrity with a ResourceManager of Hadoop": {"integrity,privacy", "rm"},
		"a list of which the first has an effect":    {"privacy,authentication", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := options
			o.Stock, o.HistoryServer, o.Site = x.stock, false, maps.Clone(options.Site)
			o.Site["hadoop.rpc.protection"] = x.protection
			l := hadooplab.Start(t, o)
			c, app := begin(t, l, example(t, l, "pi"), "2", "100")
			j := end(t, c, app)
			if j.Code != 0 || !strings.Contains(j.Stdout, "Estimated value of Pi is 3.1") {
				t.Fatalf("exit code %d\n%s\n%s", j.Code, j.Stdout, j.Stderr)
			}
			j.counts(t, map[string]int64{"Launched map tasks": 2, "Launched reduce tasks": 1, "Shuffled Maps ": 2, "Failed Shuffles": 0})
		})
	}
}
