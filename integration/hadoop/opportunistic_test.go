package hadoop

import (
	"maps"
	"testing"

	"heddle/integration/hadooplab"
	"heddle/internal/await"
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
		// distributed shell fails with the first container that a node ends because its queue is longer than the ResourceManager's limit
		"yarn.resourcemanager.nm-container-queuing.min-queue-length": "15", "yarn.resourcemanager.nm-container-queuing.max-queue-length": "15",
		"yarn.nodemanager.resource.memory-mb": "2048", "yarn.scheduler.minimum-allocation-mb": "128",
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
		c, app := begin(t, l, shell, more...)
		await.Slowly(t, "an opportunistic container", func() bool { return c.Ended() || opportunisticNow(t, l) > 0 })
		if opportunisticNow(t, l) == 0 {
			t.Errorf("%v: no container was opportunistic", more)
		}
		if len(more) > 2 {
			// stock's count stays above 0
			await.Slowly(t, "all are promoted, or have ended", func() bool { return c.Ended() || opportunisticNow(t, l) == 0 })
		}
		if j := end(t, c, app); j.Code != 0 {
			t.Fatalf("%v: exit code %d\n%s", more, j.Code, j.Stderr)
		}
	}
	succeed(t, l, jar(t, l, "hadoop-mapreduce-examples"), "pi", "-Dmapreduce.job.num-opportunistic-maps-percent=100", "-Dmapreduce.map.memory.mb=384", "6", "100")
}

// opportunisticNow returns how many opportunistic containers run.
func opportunisticNow(t *testing.T, l *hadooplab.Lab) (n int) {
	t.Helper()
	var list struct {
		Nodes struct {
			Node []struct {
				Running int `json:"numRunningOpportContainers"`
			} `json:"node"`
		} `json:"nodes"`
	}
	if err := l.Get(t.Context(), "rm-http", "/ws/v1/cluster/nodes", &list); err != nil {
		t.Fatal(err)
	}
	for _, node := range list.Nodes.Node {
		n += node.Running
	}
	return n
}
