package conf

// nodeManagerKeys are YARN's keys of the NodeManager.
func nodeManagerKeys() []Key {
	const (
		nm    = "yarn.nodemanager."
		lce   = nm + "linux-container-executor."
		disks = nm + "disk-health-checker."
	)
	return []Key{
		text(nm+"hostname", "0.0.0.0", "host of the NodeManager"),
		hostport(nm+"address", "${yarn.nodemanager.hostname}:0", "where ApplicationMasters connect; port 0 is any free one"),
		hostport(nm+"localizer.address", "${yarn.nodemanager.hostname}:8040", "where YARN's localizers connect"),
		hostport(nm+"webapp.address", "${yarn.nodemanager.hostname}:8042", "web pages and REST"),
		hostport(nm+"webapp.https.address", "0.0.0.0:8044", "web pages and REST by HTTPS").later(),
		text(nm+"bind-host", "", "host to listen on, if not the one in the addresses; 0.0.0.0 is all interfaces"),
		boolean(nm+"webapp.cross-origin.enabled", "false", "let web pages of other origins use the REST API"),

		paths(nm+"local-dirs", "${hadoop.tmp.dir}/nm-local-dir", "directories of localized files and of containers"),
		paths(nm+"log-dirs", "${yarn.log.dir}/userlogs", "directories of containers' logs"),
		seconds(nm+"log.retain-seconds", "10800", "how long logs are kept that aren't collected").min(0),
		seconds(nm+"delete.debug-delay-sec", "0", "how long the files of a finished application are kept; -1 is for ever").min(0).or("-1"),
		integer(nm+"delete.thread-count", "4", "files deleted at once").min(1),
		text(nm+"user-home-dir", "/home/", "parent of the home directory that containers are told"),
		text(nm+"default-container-executor.log-dirs.permissions", "710", "mode of containers' log directories, octal"),

		integer(nm+"resource.memory-mb", "-1", "memory for containers, MiB; -1 is 8192, or what the hardware has if it is detected").min(1).max(1<<31 - 1).or("-1"),
		integer(nm+"resource.system-reserved-memory-mb", "-1", "memory kept from containers where the hardware is detected, MiB; -1 is a fifth").min(0).or("-1"),
		integer(nm+"resource.cpu-vcores", "-1", "vcores for containers; -1 is 8, or what the hardware has if it is detected").min(1).max(1<<31 - 1).or("-1"),
		boolean(nm+"resource.detect-hardware-capabilities", "false", "take -1 above for what the hardware has"),
		boolean(nm+"resource.count-logical-processors-as-cores", "false", "count hyper-threads as cores when detecting"),
		float(nm+"resource.pcores-vcores-multiplier", "1.0", "vcores a core when detecting").min(0.01),
		integer(nm+"resource.percentage-physical-cpu-limit", "100", "share of the CPU that all containers together may use, percent").min(1).max(100),
		text(nm+"resource-type.<type>", "", "amount of a resource type of yarn.resource-types, with or without its unit"),
		boolean(nm+"pmem-check-enabled", "true", "kill containers that exceed their memory"),
		boolean(nm+"vmem-check-enabled", "true", "kill containers that exceed their address space, where this is set explicitly"),
		float(nm+"vmem-pmem-ratio", "2.1", "address space that a container may use, in multiples of its memory").min(0.01),
		boolean(nm+"resource.memory.enabled", "false", "control memory by cgroups; Heddle does where it can").later(),
		boolean(nm+"resource.cpu.enabled", "false", "control CPU by cgroups; Heddle does where it can").later(),
		millis(nm+"resource-monitor.interval-ms", "3000", "how often use is measured").min(1),
		millis(nm+"container-monitor.interval-ms", "", "how often use of containers is measured; by default resource-monitor.interval-ms").min(1),
		boolean(nm+"container-monitor.enabled", "true", "measure the use of containers"),

		class(nm+"container-executor.class", "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor", "whether containers run as the NodeManager's user (Default…) or as the submitter (Linux…)",
			"org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor", "org.apache.hadoop.yarn.server.nodemanager.LinuxContainerExecutor"),
		text(lce+"group", "", "group of the NodeManager"),
		text(lce+"nonsecure-mode.local-user", "nobody", "user of all containers while limit-users is on"),
		boolean(lce+"nonsecure-mode.limit-users", "true", "run all containers as nonsecure-mode.local-user"),
		text(lce+"nonsecure-mode.user-pattern", "^[_.A-Za-z0-9][-@_.A-Za-z0-9]{0,255}?[$]?$", "users that may be").later(),
		text(lce+"cgroups.hierarchy", "/hadoop-yarn", "YARN's cgroup; Heddle uses heddle.cgroup.root").later(),
		boolean(lce+"cgroups.mount", "false", "mount cgroups that aren't").later(),
		text(lce+"cgroups.mount-path", "", "where cgroups are mounted; Heddle finds out").later(),
		boolean(lce+"cgroups.strict-resource-usage", "false", "keep containers to their share of the CPU even while it is idle"),
		list(nm+"runtime.linux.allowed-runtimes", "default", "how containers may be run: default, docker, runc").later(),

		list(nm+"aux-services", "", "services beside the NodeManager"),
		text(nm+"aux-services.<service>.class", "", "class of that service; Heddle has org.apache.hadoop.mapred.ShuffleHandler"),
		list(nm+"env-whitelist", "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,HADOOP_YARN_HOME,HADOOP_HOME,PATH,LANG,TZ", "variables that containers inherit unless they set them"),
		text(nm+"admin-env", "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX", "variables that every container gets"),

		integer(nm+"localizer.cache.target-size-mb", "10240", "size of the cache of localized files, MiB").min(0),
		millis(nm+"localizer.cache.cleanup.interval-ms", "600000", "how often the cache is brought down to it").min(1),
		integer(nm+"localizer.fetch.thread-count", "4", "files localized at once").min(1),
		integer(nm+"local-cache.max-files-per-directory", "8192", "most files in a directory of the cache").min(37),

		boolean(disks+"enable", "true", "check local and log directories"),
		millis(disks+"interval-ms", "120000", "how often").min(1),
		float(disks+"min-healthy-disks", "0.25", "share of directories below which the node is unhealthy").min(0).max(1),
		float(disks+"max-disk-utilization-per-disk-percentage", "90.0", "use of a disk above which its directories are bad, percent").min(0).max(100),
		float(disks+"disk-utilization-watermark-low-per-disk-percentage", "", "use of a disk below which its directories are good again, percent").min(0).max(100),
		integer(disks+"min-free-space-per-disk-mb", "0", "free space below which a disk's directories are bad, MiB").min(0),
		list(nm+"health-checker.scripts", "script", "names of health scripts"),
		text(nm+"health-checker.<script>.path", "", "program that prints a line starting with ERROR when the node is unhealthy"),
		list(nm+"health-checker.<script>.opts", "", "its arguments"),
		millis(nm+"health-checker.<script>.timeout-ms", "", "time it may take").min(1),
		millis(nm+"health-checker.<script>.interval-ms", "", "how often it runs").min(1),
		millis(nm+"health-checker.interval-ms", "600000", "how often health scripts run").min(1),
		millis(nm+"health-checker.timeout-ms", "1200000", "time that health scripts may take").min(1),

		boolean(nm+"recovery.enabled", "false", "whether YARN keeps containers over a restart of the NodeManager; Heddle always does").later(),
		path(nm+"recovery.dir", "${hadoop.tmp.dir}/yarn-nm-recovery", "where YARN keeps them; Heddle uses heddle.state.dir").later(),
		boolean(nm+"recovery.supervised", "false", "don't kill containers when the NodeManager stops, as it is about to be started again"),
		millis(nm+"sleep-delay-before-sigkill.ms", "250", "time between SIGTERM and SIGKILL").min(0),
		millis(nm+"process-kill-wait.ms", "5000", "how long a process to be killed is waited for").min(0),
		millis(nm+"resourcemanager.connect.max-wait.ms", "", "how long a NodeManager tries to reach the ResourceManager; by default as everybody").min(0).or("-1"),
		millis(nm+"resourcemanager.connect.retry-interval.ms", "", "time between these attempts; by default as everybody").min(1),
		text(nm+"resourcemanager.minimum.version", "NONE", "oldest ResourceManager that will do").later(),
		integer(nm+"container-diagnostics-maximum-size", "10000", "most characters of a container's diagnostics").min(1),
		boolean(nm+"log-container-debug-info.enabled", "true", "leave a copy of the launch script and a listing of the working directory beside a container's logs"),
		text(nm+"container.stderr.pattern", "{*stderr*,*STDERR*}", "names of the files of which a failed container's diagnostics show the end"),
		integer(nm+"container.stderr.tail.bytes", "4096", "length of that end, bytes").min(0).max(1 << 20),
		text(nm+"force.path", "", "directories that every container has first in its PATH"),
		millis(nm+"duration-to-track-stopped-containers", "", "how long a container that has ended can't be started again; by default 10 minutes").min(0),
		millis(nm+"container-retry-minimum-interval-ms", "1000", "least time between attempts to restart a container").min(0),

		uri(nm+"remote-app-log-dir", "/tmp/logs", "where logs are collected").later(),
		text(nm+"remote-app-log-dir-suffix", "logs", "part of collected logs' path").later(),
		enum(nm+"log-aggregation.compression-type", "none", "compression of collected logs", "none", "lzo", "gz").later(),
		seconds(nm+"log-aggregation.roll-monitoring-interval-seconds", "-1", "how often logs of running containers are collected; -1 is never").later(),
	}
}
