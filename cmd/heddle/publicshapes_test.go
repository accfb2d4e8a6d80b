package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfCheckOfPublicConfigurations checks settings in the forms in which public configurations have them, on a machine without Hadoop's jars and images: what
// works passes, and of each part that would lack it is said how to get it.
func TestConfCheckOfPublicConfigurations(t *testing.T) {
	const service, linux = "nodemanager.aux-services ", "nodemanager.runtime.linux."
	for name, c := range map[string]struct {
		settings string // of yarn.…
		fine     bool
		want     []string
	}{
		"spark_shuffle": {
			service + "mapreduce_shuffle,spark_shuffle\nnodemanager.aux-services.mapreduce_shuffle.class org.apache.hadoop.mapred.ShuffleHandler\n" +
				"nodemanager.aux-services.spark_shuffle.class org.apache.spark.network.yarn.YarnShuffleService", false,
			[]string{"auxiliary service spark_shuffle is a Java class (org.apache.spark.network.yarn.YarnShuffleService), which needs Hadoop's jars", "set HADOOP_HOME"},
		},
		"timeline_collector": {
			service + "mapreduce_shuffle,timeline_collector\nnodemanager.aux-services.timeline_collector.class org.apache.hadoop.yarn.server.timelineservice.collector.PerNodeTimelineCollectorsAuxService\n" +
				"timeline-service.enabled true\ntimeline-service.version 2.0f\nsystem-metrics-publisher.enabled true", false,
			[]string{"auxiliary service timeline_collector is a Java class", "the ResourceManager doesn't publish to timeline version 2", "timeline-service.writer.class"},
		},
		"a timeline server": {"timeline-service.enabled true\ntimeline-service.hostname localhost\ntimeline-service.generic-application-history.enabled true\nsystem-metrics-publisher.enabled true", true, nil},
		"images":            {"nodemanager.container-executor.class org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor\n" + linux + "allowed-runtimes default,docker\n" + linux + "docker.allowed-container-networks host,none,bridge", true, []string{"allowed-runtimes admits them, and neither heddle.nodemanager.images.dirs nor heddle.nodemanager.images.registries names a place"}},
		"a manifest":        {"nodemanager.aux-services.manifest.enabled true\nnodemanager.aux-services.manifest file:///nosuch/manifest.json", true, []string{"the node starts without auxiliary services"}},
		"logs in abfs":      {"log-aggregation-enable true\nnodemanager.remote-app-log-dir abfs://logs@account.dfs.core.windows.net/logs", false, []string{`unsupported scheme "abfs": Heddle itself reads and writes hdfs and file, others by Java`}},
		"runc":              {"nodemanager.container-executor.class org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor\n" + linux + "allowed-runtimes default,runc\n" + linux + "runc.image-toplevel-dir /runc-root", true, nil},
		"tez_shuffle":       {service + "mapreduce_shuffle,tez_shuffle\nnodemanager.aux-services.tez_shuffle.class org.apache.tez.auxservices.ShuffleHandler", false, []string{"auxiliary service tez_shuffle is a Java class (org.apache.tez.auxservices.ShuffleHandler)"}},
		"a placement rule":  {"scheduler.queue-placement-rules user-group,com.example.LoomPlacementRule", false, []string{`"com.example.LoomPlacementRule"`, "mapping-rule-json"}},
		"labels":            {"node-labels.enabled true\nnode-labels.am.default-node-label-expression CORE\nnode-labels.configuration-type distributed\nnodemanager.node-labels.provider config\nnodemanager.node-labels.provider.configured-node-partition CORE", true, nil},
		"an authorizer":     {"authorization-provider com.example.Authorizer", false, []string{"com.example.Authorizer"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range []string{"HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_YARN_HOME", "HADOOP_CLASSPATH"} {
				t.Setenv(v, "")
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), []byte(properties("yarn.", c.settings)), 0o600); err != nil {
				t.Fatal(err)
			}
			said, err := confCheck(dir)
			if (err == nil) != c.fine {
				t.Errorf("%v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("not there: %s", want)
				}
			}
			if t.Failed() {
				t.Log(said)
			}
		})
	}
}
