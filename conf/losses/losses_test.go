package losses

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/conf"
)

// Queues of Cloudera's FairScheduler, queues in YARN's stores, and partitions of nodes were lost without a word.
func TestSilentLossesHaveOneWarningEach(t *testing.T) {
	for name, x := range map[string]struct {
		fair bool
		set  []string
		want []string // words of the warnings
	}{
		"nothing":                     {},
		"Cloudera's queues":           {fair: true, want: []string{"none of the queues in"}},
		"the class is set":            {fair: true, set: []string{classKey + "=fair"}},
		"another class is set":        {fair: true, set: []string{classKey + "=capacity"}},
		"queues in ZooKeeper":         {set: []string{storeKey + "=zk"}, want: []string{"aren't read"}},
		"queues in memory":            {set: []string{storeKey + "=memory"}, want: []string{"memory of YARN's ResourceManager alone"}},
		"queues in a file":            {set: []string{storeKey + "=file"}},
		"labels":                      {set: []string{labelsKey + "=true"}},
		"labels in HDFS":              {set: []string{labelsKey + "=true", labelStoreKey + "=hdfs://nn/labels"}, want: []string{"no local folder"}},
		"labels in a local folder":    {set: []string{labelsKey + "=true", labelStoreKey + "=file:///var/labels"}},
		"distributed scheduling":      {set: []string{distributedKey + "=true"}, want: []string{"else they get guaranteed ones"}},
		"central scheduling, besides": {set: []string{distributedKey + "=true", centralKey + "=true"}, want: []string{"(it is)"}},
		"distributed scheduling, off": {set: []string{distributedKey + "=false"}},
		"labels in HDFS, off":         {set: []string{labelStoreKey + "=hdfs://nn/labels"}},
		"labels, a store of queues":   {set: []string{labelsKey + "=true", storeKey + "=leveldb"}, want: []string{"aren't read"}},
	} {
		dir := t.TempDir()
		if x.fair {
			if err := os.WriteFile(filepath.Join(dir, "fair-scheduler.xml"), []byte("<allocations/>"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c, err := conf.Load(conf.Options{Dir: dir, Overrides: x.set})
		if err != nil {
			t.Fatal(err)
		}
		found := Of(c)
		if len(found) != len(x.want) {
			t.Errorf("%s: %v", name, found)
			continue
		}
		for i, p := range found {
			if p.Severity != conf.Warning || !strings.Contains(p.Message, x.want[i]) {
				t.Errorf("%s: %v, want %q", name, p, x.want[i])
			}
		}
	}
}
