package conf

import (
	"strings"
	"testing"
)

func TestAuxServicesThatHeddleLacks(t *testing.T) {
	c, err := Load(Options{Overrides: []string{
		"yarn.nodemanager.aux-services=mapreduce_shuffle,spark_shuffle,other",
		"yarn.nodemanager.aux-services.spark_shuffle.class=org.apache.spark.network.yarn.YarnShuffleService",
		"yarn.nodemanager.aux-services.other.class=com.example.Other",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"mapreduce_shuffle": "", "spark_shuffle": "spark.dynamicAllocation.shuffleTracking.enabled=true", "other": `its class is "com.example.Other"`, "unknown": "",
	} {
		if got := c.LacksAuxService(name); got == "" != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	warned := map[string]bool{}
	for _, p := range c.Validate().Problems {
		if p.Severity == Warning && strings.Contains(p.Message, "is left out") {
			warned[p.Key] = true
		}
	}
	if len(warned) != 2 || !warned["yarn.nodemanager.aux-services.spark_shuffle.class"] || !warned["yarn.nodemanager.aux-services.other.class"] {
		t.Errorf("warned of %v", warned)
	}
}
