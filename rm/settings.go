package rm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"heddle/conf"
	"heddle/conf/secure"
	"heddle/internal/secret"
	"heddle/rm/hosts"
	"heddle/rm/leader"
	"heddle/rm/leader/constraints"
	"heddle/rm/leader/delegation"
	"heddle/rm/leader/division"
	"heddle/rm/leader/lending"
	"heddle/rm/leader/nodelabels"
	"heddle/rm/leader/placement"
	"heddle/rm/leader/request"
	"heddle/rm/ledger/ledgerpb"
	"heddle/rm/raft"
	"heddle/rm/raft/compact"
	"heddle/rm/scheduler/policy/partition"
	"heddle/rm/service/certificates"
	"heddle/yarn/proxyca"
	"heddle/yarn/records"
)

// settings translates the configuration into the leader's settings.
func settings(c *conf.Config, id string, types records.ResourceTypes) leader.Settings {
	const rm = "yarn.resourcemanager."
	attempts := int32(c.Int(rm + "am.max-attempts"))
	global := attempts
	if c.IsSet(rm + "am.global.max-attempts") {
		global = int32(c.Int(rm + "am.global.max-attempts"))
	}
	return leader.Settings{
		ID:                id,
		Types:             types,
		MinAllocation:     c.MinimumAllocation(types),
		MaxAllocation:     c.MaximumAllocation(types),
		Lending:           lendingSettings(c),
		Division:          divisionSettings(c),
		NodeSpeeds:        nodeSpeeds(c),
		MaxAttempts:       min(attempts, global),
		GlobalMaxAttempts: global,
		MaxCompleted:      c.Int(rm + "max-completed-applications"),
		MaxPriority:       int32(c.Int("yarn.cluster.max-application-priority")),
		AMExpiry:          c.Duration("yarn.am.liveness-monitor.expiry-interval-ms"),
		NodeExpiry:        c.Duration("yarn.nm.liveness-monitor.expiry-interval-ms"),
		AllocationExpiry:  c.Duration(rm + "rm.container-allocation.expiry-interval-ms"),
		HeartbeatInterval: c.Duration(rm + "nodemanagers.heartbeat-interval-ms"),
		SchedulingWait:    c.Duration(rm + "work-preserving-recovery.scheduling-wait-ms"),
		TagPlacement:      tagPlacement(c),

		DecommissionTimeout: c.Duration(rm + "nodemanager-graceful-decommission-timeout-secs"),
		KeyLifetime: map[ledgerpb.KeyKind]time.Duration{
			ledgerpb.KeyKind_AM_RM:     c.Duration(rm + "am-rm-tokens.master-key-rolling-interval-secs"),
			ledgerpb.KeyKind_CONTAINER: c.Duration(rm + "container-tokens.master-key-rolling-interval-secs"),
			ledgerpb.KeyKind_NM:        c.Duration(rm + "nm-tokens.master-key-rolling-interval-secs"),

			ledgerpb.KeyKind_DELEGATION: c.Duration(rm + "delegation.key.update-interval"),
		},
		Certificates:       certificates.On(c.Text(proxyca.Key)),
		DelegationLifetime: c.Duration(rm + "delegation.token.max-lifetime"),
		DelegationRenewal:  c.Duration(rm + "delegation.token.renew-interval"),
		TokenCalls:         tokenCalls(c),

		MaxSubmission: c.Int("heddle.submission.max-bytes"),
		Bounds:        bounds(c),

		Labels:        nodelabels.Settings{Enabled: c.Bool("yarn.node-labels.enabled"), By: c.Text("yarn.node-labels.configuration-type")},
		RequestLabels: requestLabels(c),
		Constraints: constraints.Settings{
			Handler: c.Text(rm + "placement-constraints.handler"), Tries: c.Int(rm + "placement-constraints.retry-attempts"), Types: types,
		},
		Chances: chances(c),
		History: c.Bool("heddle.history.enabled"), NoReceipts: !c.Bool("heddle.receipts.enabled"),

		MaxTags:      c.Int(rm + "application.max-tags"),
		MaxTagLength: c.Int(rm + "application.max-tag.length"),
		MaxRequests:  c.Int("heddle.application.max-requests"),
		MaxPlaces:    c.Int("heddle.application.max-places"),
	}
}

// tokenCalls says how calls about delegation tokens are made.
func tokenCalls(c *conf.Config) delegation.Calls {
	const prefix = "yarn.resourcemanager."
	return delegation.Calls{
		Timeout:      c.Duration(prefix + "delegation-token-renewer.thread-timeout"),
		Pause:        c.Duration(prefix + "delegation-token-renewer.thread-retry-interval"),
		Tries:        c.Int(prefix + "delegation-token-renewer.thread-retry-max-attempts"),
		CancelAlways: c.Bool(prefix + "delegation-token.always-cancel"),
		CancelDelay:  tokenCancelDelay(c),
		Strict:       secure.On(c),
		Proxy:        delegation.Proxy{Remaining: c.Duration(prefix + "system-credentials.valid-time-remaining")},
		Handed:       delegation.NewHanded(),
	}
}

// lendingSettings says what of each node that takes probes is for short tasks.
func lendingSettings(c *conf.Config) lending.Settings {
	const prefix = "heddle.probes."
	s := lending.Settings{Longest: c.Duration(prefix + "max-wait-ms"), Window: c.Duration(prefix + "window-ms")}
	if memory := c.Int(prefix + "memory-mb"); memory > 0 {
		s.Least = records.NewResource(int64(memory), int64(c.Int(prefix+"vcores")))
	}
	if memory, vcores := c.Int(prefix+"max-memory-mb"), c.Int(prefix+"max-vcores"); memory+vcores > 0 {
		s.Most = s.Least.Max(records.NewResource(int64(memory), int64(vcores)))
	}
	s.Model, _ = partition.ParseModel(c.Text(prefix + "sizing")) // the registry lists the names
	return s
}

// requestLabels say which labels requests get. EMR writes the key of ApplicationMasters without its second word.
func requestLabels(c *conf.Config) request.LabelSettings {
	const masters = "node-labels.am.default-node-label-expression"
	s := request.LabelSettings{
		ForMasters: c.Text("yarn.resourcemanager." + masters), LendToMasters: c.Bool("yarn.resourcemanager.node-labels.am.allow-non-exclusive-allocation"),
	}
	if c.Bool("yarn.node-labels.enabled") {
		s.Enforced = c.Strings("yarn.node-labels.exclusive-enforced-partitions")
	}
	if s.ForMasters == "" {
		s.ForMasters = c.Text("yarn." + masters)
	}
	return s
}

func nodeSpeeds(c *conf.Config) []conf.NodeSpeed {
	speeds, _ := conf.ParseNodeSpeeds(c.Text("heddle.scheduler.node-speeds")) // the configuration was checked
	return speeds
}

// divisionSettings says how the cluster is divided between long and short tasks.
func divisionSettings(c *conf.Config) division.Settings {
	const prefix = "heddle.scheduler.partition."
	rules, short := partition.Eagle, c.Int(prefix+"short-percent")
	if c.Text(prefix+"rules") == "hawk" {
		rules = partition.Hawk
	}
	times, _ := c.TaskTimes(prefix + "task-times") // the configuration was checked
	s := division.Settings{Settings: rules(c.Duration(prefix+"cutoff-ms"), float64(short)), TaskTimes: times}
	if c.Text(prefix+"rules") == "dice" {
		s.Dice = partition.Study(float64(short))
		if most := c.Int(prefix + "max-percent"); most > 0 {
			s.Dice.Most = float64(max(most, short))
		}
		s.Dice.Longest, s.Dice.Multiplier = c.Duration(prefix+"max-wait-ms"), float64(c.Int(prefix+"multiplier"))
		s.Dice.Sizing, _ = partition.ParseModel(c.Text(prefix + "sizing")) // the registry lists the names
	}
	return s
}

// HostFiles returns the files that list nodes which may join, or must leave. File names are relative to the configuration's
// directory.
func HostFiles(c *conf.Config) hosts.Files {
	file := func(key string) string {
		name := c.Text(key)
		if name != "" && !filepath.IsAbs(name) {
			name = filepath.Join(c.Dir(), name)
		}
		return name
	}
	return hosts.Files{
		Include: file("yarn.resourcemanager.nodes.include-path"), Exclude: file("yarn.resourcemanager.nodes.exclude-path"),
	}
}

// hosts reads the lists for a leadership that begins. As in Hadoop, unreadable lists then exclude no node;
// an administrator who refreshes them gets the error.
func (r *ResourceManager) hosts() *hosts.Lists {
	lists, err := HostFiles(r.conf).Read()
	if err != nil {
		r.log.WithError(err).Error("the lists of hosts can't be read: all machines may be nodes until you mend the files and run yarn rmadmin -refreshNodes")
	}
	return lists
}

// tokenCancelDelay returns how long HDFS's tokens are needed after an application's end: nodes ask for them while they upload logs (Hadoop:
// DelegationTokenRenewer).
func tokenCancelDelay(c *conf.Config) time.Duration {
	if !c.Bool("yarn.log-aggregation-enable") {
		return 0
	}
	return c.Duration("yarn.nm.liveness-monitor.expiry-interval-ms")
}

func raftConfig(c *conf.Config, id string) (raft.Config, error) {
	role := "rm"
	if id == conf.WitnessID {
		role = "witness"
	}
	cfg := raft.Config{
		ID:                id,
		Cluster:           c.Text("yarn.resourcemanager.cluster-id"),
		Dir:               c.StateDir(role, id),
		Version:           conf.Version,
		HeartbeatTimeout:  c.Duration("heddle.raft.heartbeat-timeout-ms"),
		ElectionTimeout:   c.Duration("heddle.raft.election-timeout-ms"),
		LeaseTimeout:      c.Duration("heddle.raft.lease-timeout-ms"),
		SnapshotInterval:  c.Duration("heddle.raft.snapshot-interval-ms"),
		SnapshotThreshold: uint64(c.Int("heddle.raft.snapshot-threshold")),
		TrailingLogs:      uint64(c.Int("heddle.raft.trailing-logs")),
		Disk: compact.Config{
			Snapshot: int64(c.Int("heddle.raft.snapshot-mb")) << 20, Trailing: int64(c.Int("heddle.raft.trailing-mb")) << 20,
			MinFree: int64(c.Int("heddle.raft.min-free-mb")) << 20,
		},
	}
	for _, m := range c.RMIDs() {
		a, err := c.RaftAddress(m)
		if err != nil {
			return cfg, err
		}
		cfg.Members = append(cfg.Members, raft.Member{ID: m, Address: a.String()})
	}
	a, there, err := c.WitnessAddress()
	if err != nil {
		return cfg, err
	}
	if there {
		cfg.Members = append(cfg.Members, raft.Member{ID: raft.WitnessID, Address: a.String()})
		cfg.AwaitFull = !c.Bool("heddle.raft.witness.commit-alone")
	}
	cfg.NeverLead = c.Strings("heddle.raft.never-lead")
	if len(cfg.Members) == 1 {
		cfg.HeartbeatTimeout, cfg.ElectionTimeout, cfg.LeaseTimeout = alone, alone, alone
	}
	cfg.TLS, err = raftTLS(c, id)
	return cfg, err
}

// alone is the election timeout of a single member, which needs no other vote.
const alone = 20 * time.Millisecond

// raftTLS returns the TLS configuration by which members prove who they are, with certificates that an authority has signed or that they
// derive from the cluster's secret. It is nil if neither is configured.
func raftTLS(c *conf.Config, id string) (*tls.Config, error) {
	const prefix = "heddle.raft.tls."
	cert, key, ca := c.Text(prefix+"cert"), c.Text(prefix+"key"), c.Text(prefix+"ca")
	if cert == "" && key == "" && ca == "" {
		return raftSecret(c, id)
	}
	if cert == "" || key == "" || ca == "" {
		return nil, errors.New("heddle.raft.tls.cert, .key and .ca belong together: set all three or none")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("heddle.raft.tls.cert, heddle.raft.tls.key: %w", err)
	}
	if err := raft.CheckCertificate(pair.Leaf, id); err != nil {
		return nil, fmt.Errorf("heddle.raft.tls.cert: %s: %w", cert, err)
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, fmt.Errorf("heddle.raft.tls.ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("heddle.raft.tls.ca: %s holds no certificate", ca)
	}
	return raft.CertificateTLS(func() (*tls.Certificate, error) { return &pair, nil }, pool), nil
}

func raftSecret(c *conf.Config, id string) (*tls.Config, error) {
	file := c.Path("heddle.cluster.secret-file")
	if file == "" {
		return nil, nil
	}
	s, err := secret.Load(file)
	if err != nil {
		return nil, fmt.Errorf("heddle.cluster.secret-file: %w", err)
	}
	return raft.SecretTLS(s.Key("raft", raft.SeedBytes), id)
}

// tagPlacement reads which users' applications are placed by their tags.
func tagPlacement(c *conf.Config) (t placement.Tags) {
	const key = "yarn.resourcemanager.application-tag-based-placement."
	if c.Bool(key + "enable") {
		t.Users = c.Strings(key + "username.whitelist")
	}
	t.KeepCase = !c.Bool(key + "force-lowercase")
	return t
}
