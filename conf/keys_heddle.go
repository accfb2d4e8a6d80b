package conf

// heddleKeys are Heddle's own keys. A key that is set but isn't listed here is refused.
func heddleKeys() []Key {
	return []Key{
		path("heddle.cluster.secret-file", "", "file with the secret that all daemons of the cluster share, of 16 to 4,096 bytes; only its owner may read it"),
		enum("heddle.cluster.stock-daemons", "auto", "whether daemons of Hadoop's, and others that can't prove by the cluster's secret that they belong to it, are taken for nodes and ResourceManagers; auto admits them where there is no secret", "auto", "admit", "refuse"),
		path("heddle.state.dir", "${hadoop.tmp.dir}/heddle", "folder of all state; each role and id has a folder <role>-<id> in it"),
		text("heddle.node.id", "", "name of this NodeManager among those that share a state folder; by default its host, and port if that is fixed"),
		enum("heddle.cgroup.kind", "auto", "cgroups that hold containers together; auto is the best there are", "auto", "v2", "hybrid", "v1", "none"),
		text("heddle.cgroup.root", "", "cgroup below which containers get theirs: from the root of its hierarchy with a leading slash, else from the NodeManager's own; by default /heddle, or heddle in the own one"),
		integer("heddle.container.max-pids", "0", "most processes and threads of a container; 0 is any number").min(0),
		integer("heddle.container.min-user-id", "1000", "users of the operating system with lower numbers run no containers, where containers run as users; counts more than min.user.id of container-executor.cfg").min(0),
		list("heddle.container.allowed-system-users", "", "users who may though their numbers are lower; counts more than allowed.system.users of container-executor.cfg"),
		list("heddle.container.banned-users", "yarn,mapred,hdfs,bin", "users who run no containers whatever their numbers; counts more than banned.users of container-executor.cfg"),
		millis("heddle.container.suspend-timeout-ms", "5000", "time that a container may take to stop when it is suspended").min(1),
		millis("heddle.nodemanager.disk-patience-ms", "10000", "time after which a disk that doesn't answer counts as bad").min(1),
		boolean("heddle.nodemanager.jvm-archive.enabled", "false", "let Java programs in containers start with archives of the classes that earlier ones have loaded (Java 17 and newer)"),
		path("heddle.nodemanager.jvm-archive.dir", "", "folder of these archives; by default jvm-archive in the first local folder. Users of containers must be able to pass through the folders above it"),
		integer("heddle.nodemanager.jvm-archive.max-mb", "4096", "size of all archives together, in MB; those not used for the longest time are removed").min(100),
		text("heddle.nodemanager.jvm-archive.java-options", "-XX:TieredStopAtLevel=1 -XX:-UsePerfData", "further options for Java programs whose start is made quick; a program's own come behind them and so win"),
		integer("heddle.application.max-requests", "10000", "requests of one application at a time that differ in priority or allocation request id; 0 is any number").min(0),
		integer("heddle.application.max-places", "100000", "hosts and racks that one application may name at a time, in its requests and on its blacklist; 0 is any number").min(0),
		boolean("heddle.am.client-tokens", "false", "give ApplicationMasters the key, and their clients the tokens, by which they know each other, as Hadoop does on secure clusters only"),
		integer("heddle.submission.max-bytes", "983040", "size of the largest submission context, in bytes: what a client sends to start an application, without its files").min(65536).max(16711680),
		integer("heddle.port.memory-mb", "256", "memory for requests under way at a port of a daemon, and as much for answers that wait to be read, in MB; where it is used up the clients are disconnected that hold most of it, or are slowest").min(16).max(1 << 20),
		list("yarn.<role>.webapp.rest-csrf.browser-useragents-regex", "", "patterns of the User-Agent of browsers, for which rest-csrf is; by default ^Mozilla.* and ^Opera.*"),
		list("heddle.http.allowed-hosts", "", "further names under which web ports may be asked for, beside addresses, configured hosts and names without a dot; * is any"),
		list("heddle.web-proxy.hosts", "", "hosts besides an application's own machines from which the proxy to applications' pages fetches what their tracking URLs name"),
		enum("heddle.log.level", "info", "least severe log entries that are written", "trace", "debug", "info", "warn", "error"),
		enum("heddle.log.format", "text", "form of log entries", "text", "json"),

		hostport("heddle.raft.address.<id>", "0.0.0.0:8034", "where the ResourceManager of that id talks raft with the others; the host defaults to the ResourceManager's"),
		millis("heddle.raft.heartbeat-timeout-ms", "250", "silence of the leader after which a follower holds an election").min(5),
		millis("heddle.raft.election-timeout-ms", "250", "time after which an election without a winner is repeated").min(5),
		millis("heddle.raft.lease-timeout-ms", "200", "time for which a leader that hears from no majority goes on leading").min(5),
		millis("heddle.raft.snapshot-interval-ms", "120000", "how often is looked whether a snapshot is due").min(1),
		integer("heddle.raft.snapshot-threshold", "8192", "log entries since the last snapshot from which on one is due").min(1),
		integer("heddle.raft.trailing-logs", "10240", "log entries kept behind a snapshot for followers that lag").min(0),
		path("heddle.raft.tls.cert", "", "PEM file of this ResourceManager's certificate, which has its id among its DNS names or as common name; without one the secret of heddle.cluster.secret-file is used, and without that raft reaches ResourceManagers on the same machine only"),
		path("heddle.raft.tls.key", "", "PEM file of the certificate's private key"),
		path("heddle.raft.tls.ca", "", "PEM file of the authority that signed the certificates of all ResourceManagers"),
	}
}
