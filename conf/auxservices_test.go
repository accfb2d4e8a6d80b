package conf

import (
	"strings"
	"testing"
)

func TestAuxServicesOfANode(t *testing.T) {
	c, err := Load(Options{Overrides: []string{
		"yarn.nodemanager.aux-services=mapreduce_shuffle,shuffle,tez,other",
		"yarn.nodemanager.aux-services.shuffle.class=org.apache.hadoop.mapred.ShuffleHandler",
		"yarn.nodemanager.aux-services.other.class=com.example.Other",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"mapreduce_shuffle": true, "shuffle": true, "tez": false, "other": false} {
		if got := OwnAuxService(c, name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, want := range map[string]string{"spark_shuffle": "spark.dynamicAllocation.shuffleTracking.enabled=true", "other": "", "unknown": ""} {
		if got := c.LacksAuxService(name); got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if problems := c.Validate().Problems; len(problems) > 0 {
		t.Error(problems)
	}
}
