package conf

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Checks of several keys together.

// resourceManagers checks the ids of the ResourceManagers and that each has its addresses.
func (v *validation) resourceManagers() {
	c := v.c
	for _, prefix := range append(rmAddressKeys(c), rmPrefix+"hostname", "heddle.raft.address") {
		for id := range c.WithPrefix(prefix + ".") {
			if c.HAEnabled() && !slices.Contains(c.RMIDs(), id) {
				severity := Warning
				if strings.HasPrefix(prefix, "heddle.") {
					severity = Error
				}
				v.problem(severity, prefix+"."+id, fmt.Sprintf("%q is not an id in %sha.rm-ids (%s)", id, rmPrefix, strings.Join(c.RMIDs(), ", ")), "")
			}
		}
	}
	if !c.HAEnabled() {
		return
	}
	idsKey := rmPrefix + "ha.rm-ids"
	ids := c.RMIDs()
	switch {
	case len(ids) == 0:
		v.problem(Error, idsKey, rmPrefix+"ha.enabled is true, but no ids are set", "ids of the ResourceManagers, such as rm1,rm2,rm3")
	case len(ids) == 1:
		v.problem(Warning, idsKey, "a single ResourceManager can't fail over, and Hadoop's clients need two ids", "")
	case len(ids)%2 == 0 && len(ids) > 2:
		v.problem(Warning, idsKey, fmt.Sprintf("%d ResourceManagers don't survive the loss of more members than %d do; use an odd number", len(ids), len(ids)-1), "")
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			v.problem(Error, idsKey, fmt.Sprintf("id %q is named twice", id), "")
		}
		if strings.ContainsAny(id, "./ ") {
			v.problem(Error, idsKey, fmt.Sprintf("id %q has a character that ids can't have", id), "letters, digits, - and _")
		}
		v.addresses(idsKey, id)
	}
	if own := c.Text(rmPrefix + "ha.id"); own != "" && !slices.Contains(ids, own) {
		v.problem(Error, rmPrefix+"ha.id", "is not in "+idsKey, "one of "+strings.Join(ids, ", "))
	}
}

// addresses checks that a ResourceManager has its addresses, or the host that they are at.
func (v *validation) addresses(idsKey, id string) {
	missing, keys := map[string]error{}, rmAddressKeys(v.c)
	for _, key := range keys {
		if _, err := v.c.RMAddress(key, id); err != nil && !v.c.IsSet(key+"."+id) {
			missing[key+"."+id] = err
		}
	}
	if len(missing) == len(keys) {
		v.problem(Error, idsKey, fmt.Sprintf("%q has no address: set %shostname.%s, or each of its addresses (%s.%[3]s and so on)",
			id, rmPrefix, id, keys[0]), "")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		v.problem(Error, key, missing[key].Error(), "")
	}
}

// listener is a port that a role opens.
type listener struct {
	key  string
	addr Address
}

// ports checks that no role opens a port twice.
func (v *validation) ports() {
	c := v.c
	var cluster []listener // addresses that all ResourceManagers advertise
	for _, id := range c.RMIDs() {
		var own []listener
		for _, key := range rmAddressKeys(c) {
			if a, err := c.RMAddress(key, id); err == nil {
				if byID := key + "." + id; c.IsSet(byID) {
					key = byID
				}
				own = append(own, listener{key, c.bind(a, rmPrefix+"bind-host")})
				cluster = append(cluster, listener{key, a})
			}
		}
		if a, err := c.RaftAddress(id); err == nil {
			l := listener{"heddle.raft.address." + id, a}
			own, cluster = append(own, l), append(cluster, l)
		}
		v.clashes(own, "this ResourceManager")
	}
	if a, there, err := c.WitnessAddress(); there && err == nil {
		cluster = append(cluster, listener{witnessKey, a})
	}
	slices.SortStableFunc(cluster, func(a, b listener) int { return strings.Compare(a.addr.String(), b.addr.String()) })
	for i := 1; i < len(cluster); i++ {
		if a, b := cluster[i-1], cluster[i]; a.addr == b.addr && a.addr.Port != 0 && !a.addr.IsAny() && a.key != b.key && !v.reported(b.key) {
			v.problem(Error, b.key, fmt.Sprintf("%s is also the address of %s", b.addr, a.key), "")
		}
	}

	nm := []listener{}
	for _, key := range []string{"yarn.nodemanager.address", "yarn.nodemanager.localizer.address", WebKey(c, "yarn.nodemanager.")} {
		nm = append(nm, listener{key, c.NMListen(key)})
	}
	if slices.Contains(c.Strings("yarn.nodemanager.aux-services"), "mapreduce_shuffle") {
		nm = append(nm, listener{"mapreduce.shuffle.port", Address{anyHost, c.Int("mapreduce.shuffle.port")}})
	}
	v.clashes(nm, "the NodeManager")
}

// clashes reports pairs of listeners that can't both be opened on one host.
func (v *validation) clashes(all []listener, role string) {
	for i, b := range all {
		for _, a := range all[:i] {
			if a.addr.Port == b.addr.Port && a.addr.Port != 0 && (a.addr.Host == b.addr.Host || a.addr.IsAny() || b.addr.IsAny()) {
				v.problem(Error, b.key, fmt.Sprintf("port %d is also that of %s, and %s needs both", b.addr.Port, a.key, role), "")
			}
		}
	}
}

// reported tells whether there is an error about a key already.
func (v *validation) reported(key string) bool {
	return slices.ContainsFunc(v.problems, func(p Problem) bool { return p.Key == key && p.Severity == Error })
}

// clusterSecret checks that there is a secret if daemons must prove that they know it.
func (v *validation) clusterSecret() {
	const key, file = "heddle.cluster.stock-daemons", "heddle.cluster.secret-file"
	if v.c.Text(key) == "refuse" && v.c.Text(file) == "" {
		v.problem(Error, key, "no daemon could join: daemons must prove that they have the cluster's secret, but there is none ("+file+" is not set)", "")
	}
}

// AdmitsStrangers reports whether nodes and ResourceManagers may join without a proof that they know the cluster's
// secret.
func (c *Config) AdmitsStrangers() bool {
	switch c.Text("heddle.cluster.stock-daemons") {
	case "admit":
		return true
	case "refuse":
		return false
	}
	return c.Text("heddle.cluster.secret-file") == ""
}

// raft checks what hashicorp/raft requires of its times, and that the settings of TLS are complete.
func (v *validation) raft() {
	c := v.c
	const prefix = "heddle.raft."
	heartbeat, election, lease := c.Duration(prefix+"heartbeat-timeout-ms"), c.Duration(prefix+"election-timeout-ms"), c.Duration(prefix+"lease-timeout-ms")
	if election < heartbeat {
		v.problem(Error, prefix+"election-timeout-ms", fmt.Sprintf("is shorter than %sheartbeat-timeout-ms (%v)", prefix, heartbeat), "")
	}
	if lease > heartbeat {
		v.problem(Error, prefix+"lease-timeout-ms", fmt.Sprintf("is longer than %sheartbeat-timeout-ms (%v), so that there could be two leaders", prefix, heartbeat), "")
	}
	var set, unset []string
	for _, key := range []string{"tls.cert", "tls.key", "tls.ca"} {
		if c.Path(prefix+key) == "" {
			unset = append(unset, prefix+key)
		} else {
			set = append(set, prefix+key)
		}
	}
	if len(set) > 0 && len(unset) > 0 {
		v.problem(Error, set[0], "TLS needs certificate, key and authority, but this is not set: "+strings.Join(unset, ", "), "")
	}
}

// times checks intervals against each other.
func (v *validation) times() {
	c := v.c
	expiry, beat := "yarn.nm.liveness-monitor.expiry-interval-ms", rmPrefix+"nodemanagers.heartbeat-interval-ms"
	if c.Duration(expiry) < c.Duration(beat) {
		v.problem(Error, expiry, fmt.Sprintf("nodes would count as lost between two heartbeats (%s is %v)", beat, c.Duration(beat)), "")
	}
	most, usual := rmPrefix+"am.global.max-attempts", rmPrefix+"am.max-attempts"
	if c.IsSet(most) && c.Int(most) < c.Int(usual) {
		v.problem(Warning, usual, fmt.Sprintf("is above %s (%d), which limits it", most, c.Int(most)), "")
	}
	high, low := "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "yarn.nodemanager.disk-health-checker.disk-utilization-watermark-low-per-disk-percentage"
	if c.IsSet(low) && c.Float(low) > c.Float(high) {
		v.problem(Error, low, fmt.Sprintf("is above %s (%g)", high, c.Float(high)), "")
	}
}

// suspension warns where preemption is to suspend containers, and is turned off.
func (v *validation) suspension() {
	const how = "heddle.scheduler.preemption"
	c := v.c
	if !c.IsSet(how) || c.Text(how) == "kill" {
		return
	}
	on := rmPrefix + "scheduler.monitor.enable"
	if class := c.Text(rmPrefix + "scheduler.class"); class == "fair" || class == schedulerPackage+"fair.FairScheduler" {
		on = "yarn.scheduler.fair.preemption"
	}
	if !c.Bool(on) {
		v.problem(Warning, how, "has no effect, as preemption is turned off: set "+on+"=true", "")
	}
}

// probes checks how much nodes are lent for short tasks, and what is said of long ones.
func (v *validation) probes() {
	const prefix = "heddle.probes."
	c := v.c
	if _, err := c.Shares(prefix + "users"); err != nil {
		v.problem(Error, prefix+"users", err.Error(), "")
	}
	const times = "heddle.scheduler.partition.task-times"
	if _, err := c.TaskTimes(times); err != nil {
		v.problem(Error, times, err.Error(), "")
	}
	const speeds = "heddle.scheduler.node-speeds"
	if _, err := ParseNodeSpeeds(c.Text(speeds)); err != nil {
		v.problem(Error, speeds, err.Error(), "")
	}
	const division = "heddle.scheduler.partition."
	short := c.Int(division + "short-percent")
	if short > 0 && c.Duration(division+"cutoff-ms") == 0 {
		v.problem(Warning, division+"short-percent", "has no effect, as no task is long: set "+division+"cutoff-ms", "")
	}
	if rules := division + "rules"; c.IsSet(rules) && c.Text(rules) == "dice" && c.Duration(division+"cutoff-ms") == 0 {
		v.problem(Warning, rules, "has no effect, as no task is long: set "+division+"cutoff-ms", "")
	}
	if staged := "heddle.nodemanager.staging.enabled"; c.Bool(staged) && c.Int(prefix+"memory-mb") == 0 {
		v.problem(Warning, staged, "has no effect, as nothing is lent to short tasks: set "+prefix+"memory-mb", "")
	}
	if most := c.Int(division + "max-percent"); most > 0 && most < short {
		v.problem(Error, division+"max-percent", fmt.Sprintf("is below %sshort-percent (%d)", division, short), "")
	}
	for _, of := range []string{"memory-mb", "vcores"} {
		least, most := prefix+of, prefix+"max-"+of
		switch {
		case c.Int(most) == 0:
		case c.Int(prefix+"memory-mb") == 0:
			v.problem(Error, most, "there is no lent amount that could grow, as "+prefix+"memory-mb is 0", "")
		case c.Int(most) < c.Int(least):
			v.problem(Error, most, fmt.Sprintf("is below %s (%d), which is always lent", least, c.Int(least)), "")
		}
	}
}

// stagePolicy warns where a stage policy is set for a scheduler that has none.
func (v *validation) stagePolicy() {
	const key = "heddle.scheduler.stage-policy"
	class := v.c.Text(rmPrefix + "scheduler.class")
	if v.c.IsSet(key) && v.c.Text(key) != "none" && (class == "fifo" || strings.HasSuffix(class, ".FifoScheduler")) {
		v.problem(Warning, key, "has no effect, as the FifoScheduler has no stage policies: set "+rmPrefix+"scheduler.class to capacity or fair", "")
	}
}

// scheduler checks keys that name files or file systems.
func (v *validation) scheduler() {
	fs := v.c.Text("fs.defaultFS")
	u, err := url.Parse(fs)
	switch {
	case err != nil || (u.Scheme == "" && !strings.HasPrefix(fs, "/")):
		v.problem(Error, "fs.defaultFS", "must be a URI such as hdfs://host:port or file:///", "")
	case !slices.Contains([]string{"", "file", "hdfs"}, u.Scheme):
		v.problem(Warning, "fs.defaultFS", "Heddle reads and writes hdfs: and file: only, and can't reach paths in this file system", "")
	}
}
