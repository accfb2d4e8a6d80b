package hadoop

import (
	"maps"
	"strings"
	"testing"

	"heddle/integration/hadooplab"
)

// Stock jobs that ask for opportunistic containers get them: distributed shell, which also promotes them, and MapReduce. They run on Heddle, or with
// HEDDLE_TEST_STOCK=1 on YARN.
func TestOpportunisticJobs(t *testing.T) {
	hadooplab.SkipUnlessFull(t)
	o := options
	o.NodeManagers, o.HistoryServer = 2, false
	o.Site = maps.Clone(options.Site)
	maps.Copy(o.Site, map[string]string{
		"yarn.resourcemanager.opportunistic-container-allocation.enabled": "true", "yarn.nodemanager.opportunistic-containers-max-queue-length": "10",
		"yarn.nodemanager.opportunistic-containers-use-pause-for-preemption": "true",
		"yarn.nodemanager.resource.memory-mb":                                "2048", "yarn.scheduler.minimum-allocation-mb": "128",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "1", "yarn.scheduler.capacity.root.default.user-limit-factor": "100",
	})
	l := hadooplab.Start(t, o)
	path, err := l.Jar("hadoop-yarn-applications-distributedshell")
	if err != nil {
		t.Fatal(err)
	}
	shell := program{
		"class", "org.apache.hadoop.yarn.applications.distributedshell.Client", "-jar", path, "-master_memory", "256", "-container_memory", "256",
		"-container_type", "OPPORTUNISTIC", "-shell_command", "sleep", "-shell_args", "5",
	}
	for _, more := range [][]string{{"-num_containers", "3"}, {"-num_containers", "14"}, {"-num_containers", "3", "-promote_opportunistic_after_start"}} {
		j := succeed(t, l, shell, more...)
		r, err := l.Try(t.Context(), "", "yarn", "logs", "-applicationId", j.app, "-log_files", "AppMaster.stderr")
		if err != nil {
			t.Fatal(err)
		}
		if opportunistic := strings.Count(r.Stdout, "containerExecutionType=OPPORTUNISTIC") + strings.Count(r.Stdout, "ExecutionType: OPPORTUNISTIC"); opportunistic == 0 {
			t.Errorf("%v: no container was opportunistic:\n%s", more, r.Stdout)
		}
		if len(more) > 2 && !strings.Contains(r.Stdout, "GUARANTEED") {
			t.Errorf("none was promoted:\n%s", r.Stdout)
		}
	}
	succeed(t, l, jar(t, l, "hadoop-mapreduce-examples"), "pi", "-Dmapreduce.job.num-opportunistic-maps-percent=100", "-Dmapreduce.map.memory.mb=384", "6", "100")
}
