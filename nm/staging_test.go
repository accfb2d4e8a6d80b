package nm

import (
	"testing"

	"heddle/conf"
)

// Where Hadoop's clients look up names of HDFS in a table of mounts, a copy of the NameNode's file may not be what a task would read.
func TestNothingIsStagedWhereNamesLeadElsewhere(t *testing.T) {
	for class, fine := range map[string]bool{
		"": true, "org.apache.hadoop.hdfs.DistributedFileSystem": true, "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme": false,
	} {
		o := conf.Options{Overrides: []string{"fs.hdfs.impl=" + class}}
		if class == "" {
			o.Overrides = nil
		}
		c, err := conf.Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := ownNames(c); (err == nil) != fine {
			t.Errorf("%q: %v", class, err)
		}
	}
}
