package hadooplab

import (
	"cmp"
	_ "embed"
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/internal/ports"
)

// nameservice is the logical name of a highly available HDFS.
const nameservice = "lab"

// rmServices are the services of a ResourceManager. In a group their names end in its number.
var rmServices = []string{"rm", "rm-scheduler", "rm-tracker", "rm-admin", "rm-http"}

// portNames lists the services whose ports must be known in advance. DataNodes and NodeManagers choose and report
// theirs.
func portNames(o Options) []string {
	var names []string
	for i := 1; i <= o.NameNodes; i++ {
		nn := daemonName("namenode", i, o.NameNodes)
		names = append(names, nn, nn+"-http")
	}
	if o.ResourceManager || o.NodeManagers > 0 {
		names = append(names, rmServices...)
	}
	for i := 1; i <= o.ResourceManagers; i++ {
		for _, s := range append([]string{"rm-raft"}, rmServices...) {
			names = append(names, s+strconv.Itoa(i))
		}
	}
	if o.Witness {
		names = append(names, "witness-raft")
	}
	for i := 1; i <= o.NodeManagers; i++ {
		names = append(names, fmt.Sprintf("nodemanager%d-http", i))
	}
	if o.HistoryServer {
		names = append(names, "history", "history-http", "history-admin")
	}
	if o.TimelineServer {
		names = append(names, "timeline", "timeline-http")
	}
	if o.TimelineReader {
		names = append(names, "timeline-reader")
		for i := 1; i <= o.NodeManagers; i++ {
			names = append(names, fmt.Sprintf("nodemanager%d-collector", i))
		}
	}
	return names
}

// freePorts finds a free port for each name.
func freePorts(names []string) (byName map[string]int, release func(), err error) {
	free, release, err := ports.Free(len(names))
	if err != nil {
		return nil, nil, err
	}
	byName = map[string]int{}
	for i, name := range names {
		byName[name] = free[i]
	}
	return byName, release, nil
}

// settings returns the settings of all configuration files together.
func (l *Lab) settings() map[string]string {
	o := l.options
	me := "root"
	if u, err := user.Current(); err == nil {
		me = u.Username
	}
	at := func(service string) string { return fmt.Sprintf("localhost:%d", l.ports[service]) }
	in := func(name string) string { return filepath.Join(l.dir, name) }
	s := map[string]string{
		"fs.defaultFS":                               "file:///",
		"hadoop.tmp.dir":                             in("tmp"),
		"hadoop.proxyuser." + me + ".hosts":          "*",
		"hadoop.proxyuser." + me + ".groups":         "*",
		"hadoop.security.groups.negative-cache.secs": "0",
	}
	if o.NameNodes > 0 {
		maps.Copy(s, map[string]string{
			"dfs.replication":                          strconv.Itoa(max(1, min(o.DataNodes, 3))),
			"dfs.namenode.safemode.extension":          "0",
			"dfs.namenode.safemode.min.datanodes":      "0",
			"dfs.namenode.fs-limits.min-block-size":    "0",
			"dfs.namenode.edits.noeditlogchannelflush": "true", // tests don't survive power cuts
			"dfs.client.use.datanode.hostname":         "true",
			"dfs.heartbeat.interval":                   "1",
			"dfs.namenode.heartbeat.recheck-interval":  "1000",
			"dfs.namenode.stale.datanode.interval":     "3000",
			"dfs.namenode.avoid.write.stale.datanode":  "true",
		})
	}
	switch {
	case o.NameNodes == 1:
		maps.Copy(s, map[string]string{
			"fs.defaultFS":                        "hdfs://" + at("namenode"),
			"dfs.namenode.rpc-address":            at("namenode"),
			"dfs.namenode.http-address":           at("namenode-http"),
			"dfs.namenode.secondary.http-address": "localhost:0",
		})
	case o.NameNodes > 1:
		maps.Copy(s, map[string]string{
			"fs.defaultFS":                                      "hdfs://" + nameservice,
			"dfs.nameservices":                                  nameservice,
			"dfs.namenode.shared.edits.dir":                     "file://" + in("shared-edits"),
			"dfs.ha.fencing.methods":                            "shell(/bin/true)",
			"dfs.ha.tail-edits.period":                          "1s",
			"dfs.client.failover.proxy.provider." + nameservice: "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider",
		})
		var ids []string
		for i := 1; i <= o.NameNodes; i++ {
			id, nn := fmt.Sprintf("nn%d", i), fmt.Sprintf("namenode%d", i)
			ids = append(ids, id)
			s["dfs.namenode.rpc-address."+nameservice+"."+id] = at(nn)
			s["dfs.namenode.http-address."+nameservice+"."+id] = at(nn + "-http")
		}
		s["dfs.ha.namenodes."+nameservice] = strings.Join(ids, ",")
	}
	if o.ResourceManager || o.NodeManagers > 0 {
		maps.Copy(s, map[string]string{
			"yarn.resourcemanager.hostname":                                                 "localhost",
			"yarn.resourcemanager.address":                                                  at("rm"),
			"yarn.resourcemanager.scheduler.address":                                        at("rm-scheduler"),
			"yarn.resourcemanager.resource-tracker.address":                                 at("rm-tracker"),
			"yarn.resourcemanager.admin.address":                                            at("rm-admin"),
			"yarn.resourcemanager.webapp.address":                                           at("rm-http"),
			"yarn.resourcemanager.webapp.https.address":                                     at("rm-http"),                // one of both is open
			"yarn.node-attribute.fs-store.root-dir":                                         "file://" + in("attributes"), // by default several labs share one
			"yarn.nodemanager.hostname":                                                     "localhost",
			"yarn.nodemanager.localizer.address":                                            "localhost:0",
			"yarn.nodemanager.resource.memory-mb":                                           "8192",
			"yarn.nodemanager.resource.cpu-vcores":                                          "8",
			"yarn.nodemanager.aux-services":                                                 "mapreduce_shuffle",
			"yarn.nodemanager.vmem-check-enabled":                                           "false",
			"yarn.nodemanager.delete.debug-delay-sec":                                       "0",
			"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
			"yarn.scheduler.minimum-allocation-mb":                                          "128",
			"yarn.application.classpath":                                                    l.classPath(),
			"mapreduce.shuffle.port":                                                        "0",
			"mapreduce.framework.name":                                                      "yarn",
			"mapreduce.application.classpath":                                               l.classPath(),
			"mapreduce.map.memory.mb":                                                       "512",
			"mapreduce.reduce.memory.mb":                                                    "512",
			"mapred.child.java.opts":                                                        "-Xmx384m " + strings.Join(javaFlags, " "),
			"yarn.app.mapreduce.am.resource.mb":                                             "512",
			"yarn.app.mapreduce.am.command-opts":                                            "-Xmx384m " + strings.Join(javaFlags, " "),
			"yarn.app.mapreduce.am.staging-dir":                                             "/tmp/hadoop-yarn/staging",
			"yarn.log-aggregation-enable":                                                   strconv.FormatBool(o.NameNodes > 0),
			"yarn.nodemanager.remote-app-log-dir":                                           "/app-logs",
		})
	}
	if o.ResourceManagers > 0 {
		s["yarn.resourcemanager.ha.enabled"] = "true"
		s["yarn.resourcemanager.cluster-id"] = nameservice
		var ids []string
		for i := 1; i <= o.ResourceManagers; i++ {
			id := "rm" + strconv.Itoa(i)
			ids = append(ids, id)
			s["yarn.resourcemanager.hostname."+id] = "localhost"
			s["heddle.raft.address."+id] = at("rm-raft" + strconv.Itoa(i))
			for service, key := range map[string]string{
				"rm": "address", "rm-scheduler": "scheduler.address", "rm-tracker": "resource-tracker.address", "rm-admin": "admin.address", "rm-http": "webapp.address",
			} {
				s["yarn.resourcemanager."+key+"."+id] = at(service + strconv.Itoa(i))
			}
			s["yarn.resourcemanager.webapp.https.address."+id] = at("rm-http" + strconv.Itoa(i))
		}
		s["yarn.resourcemanager.ha.rm-ids"] = strings.Join(ids, ",")
		if o.Witness {
			s["heddle.raft.witness.address"] = at("witness-raft")
		}
	}
	if o.Heddle != "" {
		s["heddle.cgroup.root"] = "/" + cgroupOf(l.dir)
		s["heddle.container.run-as-root"] = "true" // as Hadoop's would, where root runs the tests
	}
	if o.HistoryServer {
		maps.Copy(s, map[string]string{
			"mapreduce.jobhistory.address":        at("history"),
			"mapreduce.jobhistory.webapp.address": at("history-http"),
			"mapreduce.jobhistory.admin.address":  at("history-admin"),
		})
	}
	if o.TimelineServer {
		maps.Copy(s, map[string]string{
			"yarn.timeline-service.enabled":                             "true",
			"yarn.system-metrics-publisher.enabled":                     "true",
			"yarn.timeline-service.generic-application-history.enabled": "true",
			"yarn.timeline-service.hostname":                            "localhost",
			"yarn.timeline-service.address":                             at("timeline"),
			"yarn.timeline-service.webapp.address":                      at("timeline-http"),
			"yarn.timeline-service.webapp.https.address":                at("timeline-http"), // one of both is open
			"yarn.timeline-service.leveldb-timeline-store.path":         in("timeline"),
			"yarn.timeline-service.leveldb-state-store.path":            in("timeline"),
		})
	}
	if o.TimelineReader {
		maps.Copy(s, readerSite(o, at("timeline-reader"), in("timeline2")))
	}
	if o.Cache > 0 {
		s["dfs.datanode.max.locked.memory"] = strconv.FormatInt(o.Cache, 10)
	}
	maps.Copy(s, o.Site)
	return s
}

// siteFile returns the file in which Hadoop looks for a key.
func siteFile(key string) string {
	family, _, _ := strings.Cut(key, ".")
	switch family {
	case "dfs":
		return "hdfs-site.xml"
	case "mapreduce", "mapred":
		return "mapred-site.xml"
	case "yarn", "heddle":
		if strings.HasPrefix(key, "yarn.scheduler.capacity.") {
			return "capacity-scheduler.xml"
		}
		if strings.HasPrefix(key, "yarn.app.mapreduce.") {
			return "mapred-site.xml"
		}
		return "yarn-site.xml"
	}
	return "core-site.xml"
}

func (l *Lab) writeConf() error {
	// The jars lack HDFS's web pages, and its servers need the folders.
	for _, dir := range []string{"conf/webapps/hdfs", "conf/webapps/datanode", "log", "tmp"} {
		if err := os.MkdirAll(filepath.Join(l.dir, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string][]property{"core-site.xml": nil, "hdfs-site.xml": nil, "mapred-site.xml": nil, "yarn-site.xml": nil}
	scheduler := map[string]string{
		"yarn.scheduler.capacity.root.queues":                 "default",
		"yarn.scheduler.capacity.root.default.capacity":       "100",
		"yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
		"yarn.scheduler.capacity.resource-calculator":         "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
	}
	maps.Copy(scheduler, l.site)
	for _, key := range slices.Sorted(maps.Keys(scheduler)) {
		file := siteFile(key)
		files[file] = append(files[file], property{key, scheduler[key]})
	}
	for name, props := range files {
		if err := writeSite(filepath.Join(l.Conf(), name), props); err != nil {
			return err
		}
	}
	for name, text := range l.options.Files {
		if err := os.WriteFile(filepath.Join(l.Conf(), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(l.Conf(), "log4j.properties"), []byte(l.log4j()), 0o644)
}

// property is a setting as Hadoop's files have it.
type property struct {
	Name  string `xml:"name"`
	Value string `xml:"value"`
}

// WriteSite writes a file of settings as Hadoop and Hive read it.
func WriteSite(path string, settings map[string]string) error {
	var props []property
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		props = append(props, property{name, settings[name]})
	}
	return writeSite(path, props)
}

// writeSite writes a file of settings.
func writeSite(path string, props []property) error {
	b, err := xml.MarshalIndent(struct {
		XMLName  xml.Name   `xml:"configuration"`
		Property []property `xml:"property"`
	}{Property: props}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(xml.Header), b...), 0o644)
}

func (l *Lab) log4j() string {
	level := l.options.LogLevel
	if level == "" {
		level = "INFO"
	}
	return "log4j.rootLogger=" + level + ",console\n" + log4j
}

const log4j = `log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.http.requests=WARN
`

//go:embed CachingDataNode.java
var cachingDataNode []byte

// dataNodeClass returns the class, or its source, of DataNodes.
func dataNodeClass(o Options, dir string) (string, error) {
	if o.Cache == 0 {
		return "org.apache.hadoop.hdfs.server.datanode.DataNode", nil
	}
	source := filepath.Join(dir, "CachingDataNode.java")
	return source, os.WriteFile(source, cachingDataNode, 0o644)
}

// dataNodeHost returns a DataNode's host name in block locations.
func dataNodeHost(i int) string {
	if i == 1 {
		return "localhost"
	}
	return fmt.Sprintf("127.0.0.%d", i)
}

func (l *Lab) nameDir(i int) string {
	return filepath.Join(l.dir, daemonName("name", i, l.options.NameNodes))
}

// The arguments below distinguish several daemons on one machine.

func (l *Lab) nameNodeArgs(i int, more ...string) []string {
	args := []string{"-Ddfs.namenode.name.dir=file://" + l.nameDir(i)}
	if l.options.NameNodes > 1 {
		args = append(args, fmt.Sprintf("-Ddfs.ha.namenode.id=nn%d", i))
	}
	return append(args, more...)
}

func (l *Lab) dataNodeArgs(i int) []string {
	return []string{
		"-Ddfs.datanode.data.dir=file://" + filepath.Join(l.dir, fmt.Sprintf("data%d", i)),
		"-Ddfs.datanode.hostname=" + dataNodeHost(i),
		"-Ddfs.datanode.address=0.0.0.0:0", // the NameNode sees all of them at 127.0.0.1
		"-Ddfs.datanode.http.address=localhost:0",
		"-Ddfs.datanode.ipc.address=localhost:0",
	}
}

func (l *Lab) nodeManagerArgs(i int) []string {
	dir := filepath.Join(l.dir, fmt.Sprintf("nodemanager%d", i))
	args := []string{
		"-Dyarn.nodemanager.address=" + cmp.Or(l.options.NodeHost, "localhost") + ":0",
		fmt.Sprintf("-Dyarn.nodemanager.webapp.address=localhost:%d", l.ports[fmt.Sprintf("nodemanager%d-http", i)]),
		fmt.Sprintf("-Dyarn.nodemanager.webapp.https.address=localhost:%d", l.ports[fmt.Sprintf("nodemanager%d-http", i)]),
		"-Dyarn.nodemanager.local-dirs=" + filepath.Join(dir, "local"),
		"-Dyarn.nodemanager.log-dirs=" + filepath.Join(dir, "log"),
	}
	if p, ok := l.ports[fmt.Sprintf("nodemanager%d-collector", i)]; ok && l.options.Heddle == "" {
		args = append(args, fmt.Sprintf("-Dyarn.nodemanager.collector-service.address=localhost:%d", p))
	}
	if i > 1 { // Heddle's keep their state below the lab's folder by their id, which is the host's name
		args = append(args, fmt.Sprintf("-Dheddle.node.id=nm%d", i))
	}
	return args
}
