package conf

// coreKeys returns the keys of core-site.xml that Heddle uses.
func coreKeys() []Key {
	return []Key{
		uri("fs.defaultFS", "file:///", "file system of paths without a scheme"),
		path("hadoop.tmp.dir", "/tmp/hadoop-${user.name}", "base of other directories"),
		text("fs.permissions.umask-mode", "022", "umask of files and directories that are created, octal"),

		enum("hadoop.security.authentication", "simple", "how users prove who they are: not at all, or by Kerberos", "simple", "kerberos"),
		boolean("hadoop.security.authorization", "false", "check the service ACLs of hadoop-policy.xml"),
		class("hadoop.security.group.mapping", "org.apache.hadoop.security.JniBasedUnixGroupsMappingWithFallback", "how the groups of a user are found: by the machine, by LDAP, or by several sources"),
		text("hadoop.security.auth_to_local", "", "rules by which full names of users, such as john@CORP.COM, become short; without rules the first part counts"),
		enum("hadoop.security.auth_to_local.mechanism", "hadoop", "whether names that no rule makes short are refused (hadoop), or stay as they are (mit)", "hadoop", "mit"),
		text("hadoop.user.group.static.mapping.overrides", "dr.who=;", "groups of users that aren't looked up, as user=group,group;user=…"),
		text("hadoop.proxyuser.<user>.hosts", "", "hosts from which that user may act for others"),
		text("hadoop.proxyuser.<user>.groups", "", "groups for whose members that user may act"),
		text("hadoop.proxyuser.<user>.users", "", "users for whom that user may act"),
		seconds("hadoop.security.groups.cache.secs", "300", "how long the groups of a user are cached").min(0),
		seconds("hadoop.security.groups.negative-cache.secs", "30", "how long a failed look-up of a user is cached").min(0),
		listOf("hadoop.rpc.protection", "authentication", "qualities of protection of RPC that tokens authenticate, the preferred one first", "authentication", "integrity", "privacy"),
		list("hadoop.security.sensitive-config-keys", "secret$,password$,ssl.keystore.pass$,fs.s3a.server-side-encryption.key,"+
			"fs.s3a.*.server-side-encryption.key,fs.s3a.encryption.algorithm,fs.s3a.encryption.key,fs.s3a.secret.key,"+
			"fs.s3a.*.secret.key,fs.s3a.session.key,fs.s3a.*.session.key,fs.s3a.session.token,fs.s3a.*.session.token,"+
			"fs.azure.account.key.*,fs.azure.oauth2.*,fs.adl.oauth2.*,fs.gs.encryption.*,fs.gs.proxy.*,fs.gs.auth.*,"+
			"credential$,oauth.*secret,oauth.*password,oauth.*token,hadoop.security.sensitive-config-keys", "patterns of keys whose values aren't shown"),

		boolean("hadoop.prometheus.endpoint.enabled", "false", "serve /prom, which has the daemons' metrics under Hadoop's names for Prometheus"),

		text("hadoop.http.staticuser.user", "dr.who", "user of web requests that name none"),
		list("hadoop.http.filter.initializers", "org.apache.hadoop.http.lib.StaticUserWebFilter", "filters of web requests; Heddle has Hadoop's own, and refuses others"),
		text("hadoop.http.authentication.type", "simple", "how web users prove who they are"),
		boolean("hadoop.http.authentication.simple.anonymous.allowed", "true", "serve web requests that name no user"),
		seconds("hadoop.http.authentication.token.validity", "36000", "how long a signed cookie holds").min(1),
		text("hadoop.http.authentication.signature.secret.file", "${user.home}/hadoop-http-auth-signature-secret", "file with the secret that signs cookies"),
		text("hadoop.http.authentication.kerberos.principal", "", "the web ports' name in Kerberos, such as HTTP/_HOST@REALM; * is each such name of the keytab"),
		path("hadoop.http.authentication.kerberos.keytab", "", "file with its keys"),
		list("hadoop.http.authentication.kerberos.endpoint.whitelist", "", "paths of web ports that need no ticket, such as /metrics"),

		list("hadoop.security.credential.provider.path", "", "keystores with passwords, such as localjceks://file/etc/hadoop/conf/passwords.jceks or jceks://hdfs@NAMENODE/PATH; they take precedence over passwords in files"),
		boolean("hadoop.security.credential.clear-text-fallback", "true", "take passwords from the files, where no provider has them"),
		text("hadoop.security.credstore.java-keystore-provider.password-file", "", "file of the configuration folder with the password of these keystores, if HADOOP_CREDSTORE_PASSWORD isn't set"),
		text("hadoop.ssl.server.conf", "ssl-server.xml", "file of the configuration folder with the certificates of the shuffle; web ports always take ssl-server.xml"),
		text("hadoop.ssl.client.conf", "ssl-client.xml", "file of the configuration folder that says which servers clients trust"),
		list("hadoop.ssl.enabled.protocols", "TLSv1.2", "versions of TLS; the default is TLSv1.2 and newer"),
		boolean("hadoop.ssl.require.client.cert", "false", "ask those who fetch map outputs for certificates, and show ours as a client"),
		text("hadoop.ssl.hostname.verifier", "DEFAULT", "whether clients compare the server's name with its certificate: DEFAULT, DEFAULT_AND_LOCALHOST, STRICT, STRICT_IE6 or ALLOW_ALL"),
		text("hadoop.ssl.keystores.factory.class", "org.apache.hadoop.security.ssl.FileBasedKeyStoresFactory", "where certificates come from; Heddle has the default alone, and refuses others if anything speaks TLS"),
		integer("ipc.maximum.data.length", "134217728", "largest IPC request, bytes").min(1024).max(1 << 30),
		integer("ipc.maximum.response.length", "134217728", "largest IPC response, bytes").min(1).max(1<<31 - 1),
		millis("ipc.client.connect.timeout", "20000", "time to connect to a server").min(1),
		integer("ipc.client.connect.max.retries", "10", "attempts to connect to a server that refuses").min(0).later(),
		millis("ipc.client.connect.retry.interval", "1000", "time between these attempts").min(0).later(),
		millis("ipc.client.connection.maxidletime", "10000", "idle time after which a client closes a connection").min(0),
		millis("ipc.ping.interval", "60000", "silence after which a client pings").min(1),

		text("net.topology.script.file.name", "", "program that prints the racks of the hosts it is given"),
		integer("net.topology.script.number.args", "100", "maximum of hosts per call of that program").min(1).later(),
		text("net.topology.table.file.name", "", "file with a host and its rack on each line, for TableMapping"),
		class("net.topology.node.switch.mapping.impl", "org.apache.hadoop.net.ScriptBasedMapping", "how the rack of a host is found"),
		text("hadoop.zk.address", "", "ZooKeeper quorum; Heddle needs none").later(),
	}
}

// hdfsKeys returns the keys of hdfs-site.xml that a client uses.
func hdfsKeys() []Key {
	return []Key{
		list("dfs.nameservices", "", "logical names of HDFS clusters"),
		list("dfs.ha.namenodes.<nameservice>", "", "ids of that cluster's NameNodes"),
		hostport("dfs.namenode.rpc-address", "", "the only NameNode"),
		hostport("dfs.namenode.rpc-address.<namenode>", "", "a NameNode by <nameservice>, or by <nameservice>.<id> if that has several"),
		class("dfs.client.failover.proxy.provider.<nameservice>", "", "how clients find the active NameNode; Heddle tries them in turn"),
		boolean("dfs.client.use.datanode.hostname", "false", "connect to DataNodes by name, not by IP address"),
		millis("dfs.client.socket-timeout", "60000", "time for a DataNode to send or take data").min(1),
		integer("dfs.replication", "3", "copies of a new file's blocks").min(1).max(32767),
		size("dfs.blocksize", "134217728", "block size of new files").min(1),
		text("dfs.namenode.kerberos.principal", "", "the name that a NameNode must have in Kerberos, such as nn/_HOST@REALM"),
		text("dfs.namenode.kerberos.principal.pattern", "", "pattern that it may match instead"),
		listOf("dfs.data.transfer.protection", "", "qualities of protection of connections to DataNodes, with Kerberos; the preferred one first", "authentication", "integrity", "privacy"),
		text("hadoop.security.key.provider.path", "", "Key Management Server of encryption zones, kms://https@HOST:PORT/kms, where the NameNode names none; the ResourceManager renews its tokens"),
		boolean("dfs.client.ignore.namenode.default.kms.uri", "false", "the one that the NameNode names doesn't count"),
		boolean("dfs.encrypt.data.transfer", "false", "connections to DataNodes may be encrypted without Kerberos; with it the NameNode says so"),
	}
}

// sslKeys returns the keys of ssl-server.xml and ssl-client.xml.
func sslKeys() (all []Key) {
	for _, of := range []struct{ prefix, whose string }{{"ssl.server.", "servers"}, {"ssl.client.", "clients"}} {
		all = append(all,
			text(of.prefix+"keystore.location", "", "file with the key and certificate of "+of.whose+": JKS, JCEKS or PKCS12"),
			text(of.prefix+"keystore.password", "", "its password"),
			text(of.prefix+"keystore.keypassword", "", "password of its keys, if it is another one"),
			text(of.prefix+"keystore.type", "jks", "its format; it is known by its content"),
			text(of.prefix+"truststore.location", "", "file with the authorities that "+of.whose+" trust"),
			text(of.prefix+"truststore.password", "", "its password"),
			text(of.prefix+"truststore.type", "jks", "its format; it is known by its content"),
			millis(of.prefix+"truststore.reload.interval", "10000", "how often these files are looked at for changes").min(0),
			millis(of.prefix+"stores.reload.interval", "10000", "the same; it takes precedence").min(0))
	}
	return append(all,
		boolean("ssl.server.need.client.auth", "false", "ask web clients for certificates that the truststore knows; YARN's daemons don't read it, those of HDFS do"),
		list("ssl.server.exclude.cipher.list", "", "cipher suites that servers don't use"),
		list("ssl.server.include.cipher.list", "", "cipher suites that servers use alone"))
}

// mapredKeys returns the keys of mapred-site.xml that Heddle itself uses. Only clients and their jobs use the others.
func mapredKeys() []Key {
	return []Key{
		boolean("mapreduce.shuffle.ssl.enabled", "false", "serve map outputs by HTTPS, with the certificate of hadoop.ssl.server.conf"),
		integer("mapreduce.shuffle.max.connections", "0", "maximum of reducers' connections; 0 is no limit").min(0),
		integer("mapreduce.shuffle.max.session-open-files", "3", "maximum of map outputs that are open for a connection").min(1),
		boolean("mapreduce.shuffle.connection-keep-alive.enable", "false", "keep connections open for reducers that don't ask for it"),
		seconds("mapreduce.shuffle.connection-keep-alive.timeout", "5", "how long an idle connection is kept open").min(1),
		integer("mapreduce.shuffle.port", "13562", "port from which the NodeManager serves map outputs").min(0).max(65535),
	}
}

// yarnKeys returns the keys of yarn-site.xml that more than one role uses.
func yarnKeys() []Key {
	return []Key{
		text("yarn.log.dir", "", "directory of the daemons' own logs"),
		boolean("yarn.acl.enable", "false", "check who may submit, see and change"),
		text("yarn.admin.acl", "*", "administrators: users, a blank, groups; * is all users, a blank none"),
		listOf("yarn.http.policy", "HTTP_ONLY", "whether web ports speak HTTP or HTTPS; HTTP_AND_HTTPS is HTTP alone, as for YARN's daemons", "HTTP_ONLY", "HTTPS_ONLY", "HTTP_AND_HTTPS"),
		integer("yarn.cluster.max-application-priority", "0", "highest priority that an application may have").min(0),
		integer("yarn.scheduler.minimum-allocation-mb", "1024", "smallest container, MiB; requests are rounded up to a multiple").min(0).max(1<<31 - 1),
		integer("yarn.scheduler.maximum-allocation-mb", "8192", "largest container, MiB").min(1).max(1<<31 - 1),
		integer("yarn.scheduler.minimum-allocation-vcores", "1", "minimum of vcores of a container").min(0).max(1<<31 - 1),
		integer("yarn.scheduler.maximum-allocation-vcores", "4", "maximum of vcores of a container").min(1).max(1<<31 - 1),
		boolean("yarn.scheduler.include-port-in-node-name", "false", "tell nodes apart by host and port instead of by host").later(),
		list("yarn.resource-types", "", "names of countable resources besides memory and vcores"),
		enum("yarn.resource-types.<type>.units", "", "unit in which the type is counted", "p", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "Pi"),
		enum("yarn.resource-types.<type>.type", "COUNTABLE", "how the type is accounted", "COUNTABLE"),
		integer("yarn.resource-types.<type>.minimum-allocation", "0", "smallest amount of the type in a container").min(0),
		integer("yarn.resource-types.<type>.maximum-allocation", "9223372036854775807", "largest amount of the type in a container").min(0),
		list("yarn.resource-types.<type>.tags", "", "tags of the type").later(),
		integer("yarn.resource-types.<type>.increment-allocation", "", "step in which amounts of the type grow with the fair scheduler").min(1),

		boolean("yarn.log-aggregation-enable", "false", "collect the logs of finished applications in a file system"),
		seconds("yarn.log-aggregation.retain-seconds", "-1", "how long collected logs are kept; -1 is for ever").min(1).or("-1").later(),
		seconds("yarn.log-aggregation.retain-check-interval-seconds", "-1", "how often old collected logs are removed; 0 or less is a tenth of the time they are kept").later(),
		list("yarn.log-aggregation.file-formats", "TFile", "formats of collected logs, the first for writing: TFile or IFile"),
		class("yarn.log-aggregation.file-controller.<format>.class", "", "what writes and reads a format"),
		uri("yarn.log-aggregation.<format>.remote-app-log-dir", "", "where logs in that format are collected, instead of yarn.nodemanager.remote-app-log-dir"),
		text("yarn.log-aggregation.<format>.remote-app-log-dir-suffix", "", "part of the path of logs collected in that format, instead of yarn.nodemanager.remote-app-log-dir-suffix and the format's name"),
		uri("yarn.log.server.url", "", "where collected logs are shown; by default by the ResourceManager, at /cluster/logs"),
		uri("yarn.log.server.web-service.url", "", "REST API for collected logs, such as the ResourceManager's /ws/v1/heddle"),
		boolean("yarn.timeline-service.enabled", "false", "there is a timeline server"),
		text("yarn.timeline-service.version", "1.0f", "its version: 1.0, 1.5 or 2.0"),
		list("yarn.timeline-service.versions", "", "its versions, instead of yarn.timeline-service.version"),
		class("yarn.timeline-service.writer.class", "org.apache.hadoop.yarn.server.timelineservice.storage.HBaseTimelineWriterImpl", "what stores entities of version 2"),
		hostport("yarn.timeline-service.webapp.address", "${yarn.timeline-service.hostname}:8188", "where it is published to"),
		hostport("yarn.timeline-service.webapp.https.address", "${yarn.timeline-service.hostname}:8190", "the same with HTTPS"),
		boolean("yarn.timeline-service.generic-application-history.enabled", "", "it shows ended applications"),
		boolean("yarn.timeline-service.generic-application-history.save-non-am-container-meta-info", "", "publish all containers (the default), or only those of ApplicationMasters (false)"),
		boolean("yarn.node-labels.enabled", "false", "divide the nodes by labels"),
		uri("yarn.node-labels.fs-store.root-dir", "", "where YARN's ResourceManager has stored labels, which Heddle reads once if it is a local folder; it replicates them itself"),
		class("yarn.node-labels.fs-store.impl.class", "org.apache.hadoop.yarn.nodelabels.FileSystemNodeLabelsStore", "how YARN's ResourceManager stores labels; Heddle replicates them").later(),
		uri("yarn.node-attribute.fs-store.root-dir", "", "where YARN's ResourceManager has stored attributes of nodes; Heddle replicates them itself").later(),
		enum("yarn.node-labels.configuration-type", "centralized", "who says which label a node has: administrators, or (distributed) the node", "centralized", "delegated-centralized", "distributed"),
		text("yarn.node-labels.am.default-node-label-expression", "", "the same as yarn.resourcemanager.node-labels.am.default-node-label-expression, as Amazon's EMR writes it"),
		hostport("yarn.web-proxy.address", "", "the proxy for the web pages of applications, where it is not the ResourceManager"),
		list("yarn.application.classpath", "", "class path of Hadoop on the nodes"),
		boolean("yarn.webapp.enable-rest-app-submissions", "true", "accept submissions over REST"),
		boolean("yarn.webapp.scheduler-ui.read-only.enable", "false", "the queue editor tries changes, and applies none"),
		boolean("yarn.webapp.filter-entity-list-by-user", "false", "list only the applications that the user may see"),
		class("yarn.client.failover-proxy-provider", "org.apache.hadoop.yarn.client.ConfiguredRMFailoverProxyProvider", "how clients find the active ResourceManager; Heddle tries them in turn").later(),
		millis("yarn.resourcemanager.connect.max-wait.ms", "900000", "how long to try to reach a ResourceManager; -1 is for ever").min(0).or("-1"),
		millis("yarn.resourcemanager.connect.retry-interval.ms", "30000", "time between these attempts").min(1).later(),
		millis("yarn.client.failover-sleep-base-ms", "", "first pause when changing the ResourceManager").min(0).later(),
		millis("yarn.client.failover-sleep-max-ms", "", "longest pause when changing the ResourceManager").min(0).later(),
		integer("yarn.client.failover-max-attempts", "", "how often to change the ResourceManager; -1 follows connect.max-wait.ms").min(-1).later(),
		millis("yarn.client.nodemanager-connect.max-wait-ms", "180000", "how long to try to reach a NodeManager; -1 is for ever").min(0).or("-1"),
		millis("yarn.client.nodemanager-connect.retry-interval-ms", "10000", "time between these attempts").min(1),
		millis("yarn.client.application-client-protocol.poll-interval-ms", "200", "how often a client asks for the state of what it has submitted").min(1),
		millis("yarn.client.application-client-protocol.poll-timeout-ms", "-1", "how long it asks; -1 is for ever").min(0).or("-1").later(),
	}
}
