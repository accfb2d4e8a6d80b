package conf

// schedulerPackage begins the class names of YARN's schedulers.
const schedulerPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."

// schedulers are the values of yarn.resourcemanager.scheduler.class.
var schedulers = []string{
	schedulerPackage + "capacity.CapacityScheduler",
	schedulerPackage + "fair.FairScheduler",
	schedulerPackage + "fifo.FifoScheduler",
	"capacity", "fair", "fifo",
}

// resourceManagerKeys are YARN's keys of the ResourceManager.
func resourceManagerKeys() []Key {
	const rm = "yarn.resourcemanager."
	return []Key{
		boolean("yarn.resourcemanager.webapp.rest-csrf.enabled", "false", "require a header that foreign pages can't send from browsers that change something by the REST API"),
		text("yarn.resourcemanager.webapp.rest-csrf.custom-header", "X-XSRF-Header", "that header"),
		list("yarn.resourcemanager.webapp.rest-csrf.methods-to-ignore", "GET,OPTIONS,HEAD", "methods that need no such header"),
		text(rm+"proxyuser.<user>.hosts", "", "as hadoop.proxyuser.<user>.hosts, which it takes precedence over"),
		text(rm+"proxyuser.<user>.groups", "", "likewise, for whose groups"),
		text(rm+"proxyuser.<user>.users", "", "likewise, for which users"),
		text(rm+"principal", "", "account of the ResourceManager with Kerberos, such as rm/_HOST@REALM; _HOST is the host of its address"),
		text(rm+"principal.pattern", "", "names that the ResourceManager may have to clients instead, with * for any text"),
		text(rm+"keytab", "/etc/krb5.keytab", "file with the keys of that account"),
		text(rm+"hostname", "0.0.0.0", "host of the ResourceManager"),
		hostport(rm+"address", "${yarn.resourcemanager.hostname}:8032", "where clients connect"),
		hostport(rm+"scheduler.address", "${yarn.resourcemanager.hostname}:8030", "where ApplicationMasters connect"),
		hostport(rm+"resource-tracker.address", "${yarn.resourcemanager.hostname}:8031", "where NodeManagers connect"),
		hostport(rm+"admin.address", "${yarn.resourcemanager.hostname}:8033", "where administrators connect"),
		boolean(rm+"webapp.delegation-token-auth-filter.enabled", "true", "take delegation tokens and doAs on the web port of a cluster with Kerberos"),
		hostport(rm+"webapp.address", "${yarn.resourcemanager.hostname}:8088", "web pages and REST"),
		hostport(rm+"webapp.https.address", "${yarn.resourcemanager.hostname}:8090", "web pages and REST by HTTPS").later(),
		text(rm+"hostname.<id>", "", "host of the ResourceManager of that id"),
		hostport(rm+"address.<id>", "", "where clients connect to the ResourceManager of that id"),
		hostport(rm+"scheduler.address.<id>", "", "where ApplicationMasters connect to it"),
		hostport(rm+"resource-tracker.address.<id>", "", "where NodeManagers connect to it"),
		hostport(rm+"admin.address.<id>", "", "where administrators connect to it"),
		hostport(rm+"webapp.address.<id>", "", "its web pages and REST"),
		hostport(rm+"webapp.https.address.<id>", "", "its web pages and REST by HTTPS").later(),
		text(rm+"bind-host", "", "host to listen on, if not the one in the addresses; 0.0.0.0 is all interfaces"),
		boolean(rm+"webapp.cross-origin.enabled", "false", "let web pages of other origins use the REST API"),

		class(rm+"scheduler.class", schedulerPackage+"capacity.CapacityScheduler", "the scheduler", schedulers...),
		class(rm+"store.class", "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore", "where YARN keeps its state; Heddle replicates its own").later(),
		boolean(rm+"application-tag-based-placement.enable", "false", "place applications by the user that a tag userid=NAME names"), list(rm+"application-tag-based-placement.username.whitelist", "", "the users whose applications that holds for"),
		boolean(rm+"application-tag-based-placement.force-lowercase", "true", "keep applications' tags in lower case"),
		boolean(rm+"recovery.enabled", "false", "whether YARN recovers its state; Heddle always does").later(),
		boolean(rm+"work-preserving-recovery.enabled", "true", "whether YARN keeps containers over a restart; Heddle always does").later(),
		millis(rm+"work-preserving-recovery.scheduling-wait-ms", "10000", "time after the start during which asks up to the configured maximum are accepted, because larger nodes may still register").min(0),
		boolean(rm+"scheduler.monitor.enable", "false", "run the policies of scheduler.monitor.policies, such as preemption"),
		list(rm+"scheduler.monitor.policies", "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy", "policies beside the scheduler"),

		boolean(rm+"ha.enabled", "false", "there are several ResourceManagers"),
		list(rm+"ha.rm-ids", "", "ids of the ResourceManagers"),
		text(rm+"ha.id", "", "id of this ResourceManager; by default the one whose address is of this host"),
		text(rm+"cluster-id", "", "name of the cluster"),
		boolean(rm+"ha.automatic-failover.enabled", "true", "elect the active ResourceManager; Heddle always does").later(),

		integer(rm+"am.max-attempts", "2", "attempts that an application has unless it asks for fewer").min(1),
		integer(rm+"am.global.max-attempts", "", "maximum of attempts that an application may ask for").min(1),
		millis("yarn.am.liveness-monitor.expiry-interval-ms", "900000", "silence after which an ApplicationMaster counts as dead").min(1),
		millis("yarn.nm.liveness-monitor.expiry-interval-ms", "600000", "silence after which a NodeManager counts as lost").min(1),
		millis(rm+"rm.container-allocation.expiry-interval-ms", "600000", "time within which an ApplicationMaster must start a granted container").min(1),
		millis(rm+"nodemanagers.heartbeat-interval-ms", "1000", "time between a NodeManager's heartbeats").min(1),
		integer(rm+"max-completed-applications", "1000", "number of ended applications that lists show").min(0),
		integer(rm+"state-store.max-completed-applications", "${yarn.resourcemanager.max-completed-applications}", "finished applications that are kept in the state").min(0).later(),
		seconds(rm+"am-rm-tokens.master-key-rolling-interval-secs", "86400", "lifetime of the key that signs ApplicationMasters' tokens").min(1),
		seconds(rm+"container-tokens.master-key-rolling-interval-secs", "86400", "lifetime of the key that signs containers' tokens").min(1),
		seconds(rm+"nm-tokens.master-key-rolling-interval-secs", "86400", "lifetime of the key that signs tokens for NodeManagers").min(1),
		millis(rm+"delegation.key.update-interval", "86400000", "lifetime of the key that signs delegation tokens").min(1),
		millis(rm+"delegation.token.max-lifetime", "604800000", "time after which a delegation token can't be renewed").min(1),
		millis(rm+"delegation.token.renew-interval", "86400000", "time after which a delegation token needs renewal").min(1),
		seconds(rm+"delegation-token-renewer.thread-timeout", "60s", "timeout of a call that renews or cancels an application's token").min(1),
		seconds(rm+"delegation-token-renewer.thread-retry-interval", "60s", "time after which an unanswered call is repeated").min(0),
		integer(rm+"delegation-token-renewer.thread-retry-max-attempts", "10", "maximum of calls for one renewal or cancellation").min(1),
		boolean(rm+"delegation-token.always-cancel", "false", "cancel the tokens of applications at their end even if they asked not to"),
		integer(rm+"application.max-tags", "10", "maximum of tags of an application").min(0),
		integer(rm+"application.max-tag.length", "100", "maximum of characters of a tag").min(0),
		millis(rm+"application-timeouts.monitor.interval-ms", "3000", "how often applications' timeouts are checked").min(1).later(),

		path(rm+"nodes.include-path", "", "file of the hosts that may be nodes; without one all may"),
		path(rm+"nodes.exclude-path", "", "file of the hosts to be decommissioned"),
		seconds(rm+"nodemanager-graceful-decommission-timeout-secs", "3600", "how long a graceful decommission waits for containers; -1 is for ever").min(0).or("-1"),
		text(rm+"nodemanager.minimum.version", "NONE", "oldest NodeManager that may join, or EqualToRM").later(),
		millis(rm+"node-removal-untracked.timeout-ms", "60000", "time after which a node that is in no list is forgotten").min(0).later(),

		class("yarn.scheduler.configuration.store.class", "file", "where changes of queues are kept"),
		text("yarn.scheduler.queue-placement-rules", "user-group", "rules that place applications in queues"),
		text("yarn.scheduler.fair.allocation.file", "fair-scheduler.xml", "file of the fair scheduler's queues"),
		boolean("yarn.scheduler.fair.user-as-default-queue", "true", "create a queue for each user, for applications that name none"),
		boolean("yarn.scheduler.fair.allow-undeclared-pools", "true", "create undeclared queues that applications name"),
		integer("yarn.scheduler.increment-allocation-mb", "1024", "step in which the memory of containers grows with the fair scheduler, MiB").min(1),
		integer("yarn.scheduler.increment-allocation-vcores", "1", "step in which the vcores of containers grow with the fair scheduler").min(1),
		float("yarn.scheduler.reservation-threshold.increment-multiple", "2", "size, in such steps, from which on a container gets reservations under the fair scheduler").min(0),
		boolean(rm+"system-metrics-publisher.enabled", "false", "publish events to the timeline server").later(),
		enum(rm+"placement-constraints.handler", "disabled", "how placement constraints are met", "disabled", "placement-processor", "scheduler").later(),
		boolean(rm+"opportunistic-container-allocation.enabled", "false", "allocate opportunistic containers").later(),
		boolean(rm+"reservation-system.enable", "false", "take reservations").later(),
		boolean(rm+"proxy-user-privileges.enabled", "false", "renew HDFS tokens on applications' behalf").later(),
	}
}
