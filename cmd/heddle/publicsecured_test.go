package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wikimedia has the settings of Wikimedia's public secured cluster (operations/puppet: profile::hadoop::common and hieradata, 2026), as its workers have them, by file.
var wikimedia = map[string]string{
	"core-site.xml": `fs.defaultFS hdfs://analytics-hadoop/
ha.zookeeper.quorum an-conf1004.eqiad.wmnet,an-conf1005.eqiad.wmnet,an-conf1006.eqiad.wmnet
io.file.buffer.size 131072
hadoop.proxyuser.mapred.hosts *
hadoop.proxyuser.mapred.groups *
hadoop.proxyuser.hue.hosts *
hadoop.proxyuser.hue.groups *
fs.trash.checkpoint.interval 1440
fs.trash.interval 43200
net.topology.script.file.name NET
hadoop.ssl.enabled.protocols TLSv1.2
hadoop.rpc.protection privacy
hadoop.security.authentication kerberos
hadoop.proxyuser.hive.hosts *
hadoop.proxyuser.hive.groups *
hadoop.proxyuser.oozie.hosts *
hadoop.proxyuser.oozie.groups *
hadoop.proxyuser.presto.hosts *
hadoop.proxyuser.presto.groups *
hadoop.proxyuser.superset.hosts *
hadoop.proxyuser.superset.groups *
fs.permissions.umask-mode 027
hadoop.http.staticuser.user yarn`,
	"yarn-site.xml": `yarn.resourcemanager.cluster-id analytics-hadoop
yarn.resourcemanager.ha.rm-ids an-master1003-eqiad-wmnet,an-master1004-eqiad-wmnet
yarn.resourcemanager.connect.retry-interval.ms 2000
yarn.resourcemanager.ha.enabled true
yarn.resourcemanager.ha.automatic-failover.enabled true
yarn.resourcemanager.ha.automatic-failover.embedded true
yarn.resourcemanager.recovery.enabled true
yarn.resourcemanager.zk-address an-conf1004.eqiad.wmnet,an-conf1005.eqiad.wmnet,an-conf1006.eqiad.wmnet
yarn.resourcemanager.zk-state-store.parent-path /yarn-rmstore/analytics-hadoop
yarn.resourcemanager.store.class org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore
yarn.resourcemanager.max-completed-applications 5000
yarn.resourcemanager.zk-timeout-ms 20000
yarn.app.mapreduce.am.scheduler.connection.wait.interval-ms 5000
yarn.resourcemanager.work-preserving-recovery.enabled true
yarn.resourcemanager.am.max-attempts 6
yarn.resourcemanager.hostname.an-master1003-eqiad-wmnet an-master1003.eqiad.wmnet
yarn.resourcemanager.webapp.address.an-master1003-eqiad-wmnet an-master1003.eqiad.wmnet:8088
yarn.resourcemanager.hostname.an-master1004-eqiad-wmnet an-master1004.eqiad.wmnet
yarn.resourcemanager.webapp.address.an-master1004-eqiad-wmnet an-master1004.eqiad.wmnet:8088
yarn.nodemanager.recovery.enabled true
yarn.nodemanager.localizer.address 0.0.0.0:8040
yarn.nodemanager.address 0.0.0.0:8041
yarn.nodemanager.webapp.address 0.0.0.0:8042
yarn.nodemanager.aux-services mapreduce_shuffle,spark_shuffle,spark_shuffle_3_5
yarn.nodemanager.aux-services.mapreduce.shuffle.class org.apache.hadoop.mapred.ShuffleHandler
yarn.nodemanager.aux-services.spark_shuffle.class org.apache.spark.network.yarn.YarnShuffleService
yarn.nodemanager.aux-services.spark_shuffle.classpath HADOOP/spark-3.1-yarn-shuffle.jar:HADOOP/spark_shuffle_3_1_config
yarn.nodemanager.aux-services.spark_shuffle_3_5.class org.apache.spark.network.yarn.YarnShuffleService
yarn.nodemanager.aux-services.spark_shuffle_3_5.classpath HADOOP/spark-3.5-yarn-shuffle.jar:HADOOP/spark_shuffle_3_5_config
yarn.nodemanager.container-monitor.procfs-tree.smaps-based-rss.enabled true
yarn.nodemanager.local-dirs DATA/yarn/local
yarn.nodemanager.log-dirs DATA/yarn/logs
yarn.nodemanager.resource.memory-mb 233472
yarn.nodemanager.resource.cpu-vcores 48
yarn.scheduler.minimum-allocation-mb 1
yarn.scheduler.maximum-allocation-mb 131072
yarn.scheduler.minimum-allocation-vcores 1
yarn.scheduler.maximum-allocation-vcores 32
yarn.log-aggregation-enable true
yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds 3600
yarn.nodemanager.remote-app-log-dir /var/log/hadoop-yarn/apps
yarn.nodemanager.log-aggregation.compression-type gz
yarn.app.mapreduce.am.staging-dir /user
yarn.resourcemanager.nodes.exclude-path EXCLUDE
yarn.application.classpath $HADOOP_CONF_DIR,$HADOOP_COMMON_HOME/*,$HADOOP_COMMON_HOME/lib/*,$HADOOP_HDFS_HOME/*,$HADOOP_HDFS_HOME/lib/*
yarn.log-aggregation.retain-seconds 7776000
yarn.log-aggregation.retain-check-interval-seconds 86400
yarn.node-labels.enabled true
yarn.node-labels.fs-store.root-dir hdfs://analytics-hadoop/user/yarn/node-labels
yarn.app.mapreduce.am.env LD_LIBRARY_PATH=/usr/lib/hadoop/lib/native
yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage 99.0
yarn.resourcemanager.principal yarn/_HOST@WIKIMEDIA
yarn.nodemanager.principal yarn/_HOST@WIKIMEDIA
yarn.resourcemanager.keytab /etc/security/keytabs/hadoop/yarn.keytab
yarn.nodemanager.keytab /etc/security/keytabs/hadoop/yarn.keytab
yarn.nodemanager.linux-container-executor.group yarn
yarn.nodemanager.container-executor.class org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor
spark.authenticate true
spark.network.crypto.enabled true
yarn.nodemanager.vmem-pmem-ratio 5.1
yarn.resourcemanager.scheduler.class org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler
yarn.resourcemanager.scheduler.monitor.enable true
yarn.admin.acl yarn analytics-admins
yarn.acl.enable true`,
	"hdfs-site.xml": `dfs.permissions.superusergroup hadoop
dfs.datanode.failed.volumes.tolerated 2
dfs.ha.automatic-failover.enabled true
dfs.nameservices analytics-hadoop
dfs.ha.namenodes.analytics-hadoop an-master1003-eqiad-wmnet,an-master1004-eqiad-wmnet
dfs.internal.nameservices analytics-hadoop
dfs.namenode.service.handler.count 100
dfs.namenode.servicerpc-address.analytics-hadoop.an-master1003-eqiad-wmnet an-master1003.eqiad.wmnet:8040
dfs.namenode.servicerpc-address.analytics-hadoop.an-master1004-eqiad-wmnet an-master1004.eqiad.wmnet:8040
dfs.namenode.rpc-address.analytics-hadoop.an-master1003-eqiad-wmnet an-master1003.eqiad.wmnet:8020
dfs.namenode.rpc-address.analytics-hadoop.an-master1004-eqiad-wmnet an-master1004.eqiad.wmnet:8020
dfs.namenode.http-address.analytics-hadoop.an-master1003-eqiad-wmnet an-master1003.eqiad.wmnet:50070
dfs.namenode.http-address.analytics-hadoop.an-master1004-eqiad-wmnet an-master1004.eqiad.wmnet:50070
dfs.client.failover.proxy.provider.analytics-hadoop org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider
dfs.ha.fencing.methods shell(/bin/true)
dfs.block.size 268435456
dfs.blocksize 268435456
dfs.webhdfs.enabled true
dfs.cluster.administrators hdfs analytics-admins,ops
dfs.block.access.token.enable true
dfs.namenode.keytab.file /etc/security/keytabs/hadoop/hdfs.keytab
dfs.namenode.kerberos.principal hdfs/_HOST@WIKIMEDIA
dfs.journalnode.kerberos.principal hdfs/_HOST@WIKIMEDIA
dfs.web.authentication.kerberos.keytab /etc/security/keytabs/hadoop/HTTP.keytab
dfs.web.authentication.kerberos.principal HTTP/_HOST@WIKIMEDIA
dfs.datanode.keytab.file /etc/security/keytabs/hadoop/hdfs.keytab
dfs.datanode.kerberos.principal hdfs/_HOST@WIKIMEDIA
dfs.encrypt.data.transfer true
dfs.data.transfer.protection privacy
dfs.http.policy HTTPS_ONLY
dfs.encrypt.data.transfer.cipher.suites AES/CTR/NoPadding
dfs.encrypt.data.transfer.cipher.key.bitlength 128
dfs.namenode.fs-limits.max-directory-items 4194304`,
	"mapred-site.xml": `mapreduce.framework.name yarn
mapreduce.jobhistory.address an-master1003.eqiad.wmnet:10020
mapreduce.jobhistory.webapp.address 0.0.0.0:19888
mapreduce.jobhistory.intermediate-done-dir /user/history/done_intermediate
mapreduce.jobhistory.done-dir /user/history/done
mapreduce.shuffle.port 13562
mapred.job.tracker localhost:8021
mapreduce.job.reuse.jvm.num.tasks 1
mapreduce.reduce.parallel.copies 10
mapreduce.map.memory.mb 2048
mapreduce.reduce.memory.mb 4096
mapreduce.task.io.sort.mb 200
mapreduce.task.io.sort.factor 10
mapreduce.map.java.opts -Xmx1638m
mapreduce.reduce.java.opts -Xmx3276m
yarn.app.mapreduce.am.resource.mb 4096
yarn.app.mapreduce.am.command-opts -Xmx3276m
yarn.app.mapreduce.am.job.client.port-range 55000-55199
mapreduce.map.output.compress true
mapreduce.map.output.compress.codec org.apache.hadoop.io.compress.SnappyCodec
mapreduce.output.fileoutputformat.compress true
mapreduce.output.fileoutputformat.compress.codec org.apache.hadoop.io.compress.SnappyCodec
mapreduce.output.fileoutputformat.compress.type BLOCK
mapreduce.ssl.enabled true
mapreduce.shuffle.ssl.enabled true
mapreduce.jobhistory.principal mapred/_HOST@WIKIMEDIA
mapreduce.jobhistory.keytab /etc/security/keytabs/hadoop/mapred.keytab`,
	"ssl-server.xml": `ssl.server.keystore.type pkcs12
ssl.server.keystore.keypassword secret
ssl.server.keystore.password secret
ssl.server.keystore.location /etc/hadoop/conf/ssl/server.p12`,
	"container-executor.cfg": `yarn.nodemanager.linux-container-executor.group=yarn
min.user.id=100
allowed.system.users=hive,hdfs
banned.users=root,yarn,mapred,bin,nobody
`,
}

// A whole public folder with Kerberos, privacy, HTTPS for shuffles and highly available HDFS is taken as it is. What its hosts have and this machine lacks (keytabs,
// certificates, groups, the names of its hosts) is said, and no key of it is unknown.
func TestConfCheckOfAPublicSecuredFolder(t *testing.T) {
	hadoop, dir := t.TempDir(), t.TempDir()
	paths := strings.NewReplacer("HADOOP/", hadoop+"/", "DATA/", filepath.Join(dir, "data")+"/", "EXCLUDE", filepath.Join(dir, "exclude"), "NET", filepath.Join(dir, "net"))
	files := maps.Clone(wikimedia)
	queues, err := os.ReadFile("../../integration/jobs/testdata/partitions/wikimedia/capacity-scheduler.xml")
	if err != nil {
		t.Fatal(err)
	}
	files["capacity-scheduler.xml"], files["exclude"] = string(queues), "an-worker1148.eqiad.wmnet\n"
	for name, text := range files {
		if strings.HasSuffix(name, "xml") && !strings.HasPrefix(text, "<") {
			text = properties("", paths.Replace(text))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, class := range []string{ // those of the jars that its hosts have
		filepath.Join(dir, "org/apache/hadoop/yarn/server/api/AuxiliaryService.class"),
		filepath.Join(hadoop, "spark_shuffle_3_1_config/org/apache/spark/network/yarn/YarnShuffleService.class"),
		filepath.Join(hadoop, "spark_shuffle_3_5_config/org/apache/spark/network/yarn/YarnShuffleService.class"),
	} {
		if err := os.MkdirAll(filepath.Dir(class), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(class, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said, err := confCheck(dir)
	if err != nil {
		t.Errorf("%v", err)
	}
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "error") || strings.Contains(line, "unknown") || strings.Contains(line, "isn't implemented") {
			t.Error(line)
		}
	}
	for _, want := range []string{"yarn.nodemanager.keytab", "ssl.server.keystore.location", `group "yarn"`} {
		if !strings.Contains(said, "if this user starts it on this machine: ") || !strings.Contains(said, want) {
			t.Errorf("of what this machine lacks, %s isn't said:\n%s", want, said)
		}
	}
}
