package conf

import (
	"bytes"
	"encoding/json"
	"testing"
)

// /conf had 720 of the 1,639 settings that YARN's shows, and the ResourceManager's addresses with variables in them, which
// programs can't use.
func TestConfShowsAllSettingsThatYARNsShows(t *testing.T) {
	c := load1(t, Options{SystemProperties: map[string]string{"user.name": "yarn"}}, "yarn-site.xml", configuration(
		"<property><name>yarn.resourcemanager.hostname</name><value>rm.example</value></property>"))
	var b bytes.Buffer
	if err := c.WriteJSON(&b, ""); err != nil {
		t.Fatal(err)
	}
	var page struct {
		Properties []struct{ Key, Value, Resource string }
	}
	if err := json.Unmarshal(b.Bytes(), &page); err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for _, p := range page.Properties {
		got[p.Key] = [2]string{p.Value, p.Resource}
	}
	for key, want := range map[string][2]string{ // of a stock 3.4.2
		"dfs.namenode.checkpoint.edits.dir":            {"file:///tmp/hadoop-yarn/dfs/namesecondary", "hdfs-default.xml"},
		"dfs.client.ignore.namenode.default.kms.uri":   {"false", "core-default.xml"},
		"mapreduce.task.io.sort.mb":                    {"100", "mapred-default.xml"},
		"fs.s3a.connection.maximum":                    {"500", "core-default.xml"},
		"yarn.resourcemanager.address":                 {"rm.example:8032", "programmatically"},
		"yarn.resourcemanager.admin.address":           {"rm.example:8033", "programmatically"},
		"yarn.resourcemanager.webapp.address":          {"rm.example:8088", "yarn-default.xml"},
		"yarn.nodemanager.resource.cpu-vcores":         {"-1", "yarn-default.xml"},
		"mapreduce.job.reduce.slowstart.completedmaps": {"0.05", "mapred-default.xml"},
	} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	if len(got) < 1550 {
		t.Errorf("%d settings", len(got))
	}
	b.Reset()
	if err := c.WriteXML(&b, "yarn.resourcemanager.address"); err != nil || !bytes.Contains(b.Bytes(), []byte("<value>rm.example:8032</value>")) {
		t.Errorf("%v, %s", err, &b)
	}
	b.Reset()
	if err := c.WriteXML(&b, "hadoop.tags.system"); err != nil || !bytes.Contains(b.Bytes(), []byte("CLIENT\n      ,SERVER")) {
		t.Errorf("%v, %s", err, &b)
	}
	if c.IsSet("dfs.blocksize") {
		t.Error("what is only shown counts as set")
	}
}
